// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
// Browsers start no workers from the file system, so that the search would not work there. This class does what the
// search needs of a worker, in a hidden frame. The name is the one that the theme looks for.
class IFrameWorker extends EventTarget {
  constructor(url) {
    super();
    this.ready = new Promise((resolve) => {
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      this.inside = inside;
      inside.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      // the theme awaits what this returns
      inside.importScripts = (...urls) => urls.reduce((done, next) => done.then(() => this.load(next)), Promise.resolve());
      this.load(url).then(resolve);
    });
  }

  load(url) {
    return new Promise((resolve, reject) => {
      const script = this.inside.document.createElement("script");
      script.src = url;
      script.onload = resolve;
      script.onerror = reject;
      this.inside.document.body.append(script);
    });
  }

  postMessage(data) {
    this.ready.then(() => this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data })));
  }
}

window.IFrameWorker = IFrameWorker;
if (location.protocol === "file:") window.Worker = IFrameWorker;
