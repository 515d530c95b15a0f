/** The page of the dashboard, and the types of the data that its server sends. */

export { DOCUMENT } from './document.ts';
export { PACKAGES, SCRIPT, STYLE } from './generated/page.ts';
export * from './wire.ts';
