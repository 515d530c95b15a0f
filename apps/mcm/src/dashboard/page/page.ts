import { type Html, html } from './html.ts';

/** A part of a page. It is drawn, sent and replaced as a unit. */
export interface Section {
  readonly id: string;
  readonly body: Html;
}

/** A page of the dashboard. */
export interface Page {
  readonly title: string;
  /** Before a draw, reads the data that the watches do not provide, if something changed since the last read. */
  read?(signal: AbortSignal): Promise<void>;
  /** Draws the page from the caches of the watches. Makes no request. */
  draw(now: Date): readonly Section[];
}

/** The whole document. It is complete without its script, which only updates it. */
export const documentOf = (page: Page, now: Date, live: string): string =>
  `<!doctype html>\n${
    html`<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="dark light">
<title>${page.title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/style.css">
<script src="/script.js" defer></script>
</head>
<body data-live="${live}">
<a class="skip" href="#content">Skip to content</a>
<header>
<a class="home" href="/">mcm</a>
<p id="connection" role="status">Reload the page to see changes.</p>
<button type="button" id="theme" hidden>Theme: as the system</button>
</header>
<main id="content" tabindex="-1">
${page.draw(now).map(({ id, body }) => html`<section id="${id}" aria-labelledby="${id}-heading">${body}</section>\n`)}</main>
</body>
</html>
`.text
  }`;
