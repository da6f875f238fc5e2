// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
// Repeats something while the page can be seen; a hidden tab sends nothing.

/** Calls `action` every so many milliseconds, and at once when the page is shown again. Returns a function that ends it. */
export function whileVisible(every, action) {
  let timer = null;
  let isRunning = false;
  async function run() {
    timer = null;
    if (isRunning || document.hidden) return;
    isRunning = true;
    try {
      await action();
    } finally {
      isRunning = false;
      if (!isEnded) timer = setTimeout(run, every);
    }
  }
  let isEnded = false;
  function seen() {
    if (document.hidden || timer !== null) return;
    run();
  }
  document.addEventListener("visibilitychange", seen);
  timer = setTimeout(run, every);
  return () => {
    isEnded = true;
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", seen);
  };
}
