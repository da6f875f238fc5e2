# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The addresses of the HTTP interface, a module for each subject."""
