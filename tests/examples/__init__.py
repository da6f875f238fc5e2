# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
