import { effect, signal } from '@preact/signals';

const THEMES = ['system', 'light', 'dark'] as const;
type Theme = (typeof THEMES)[number];

const STORED = 'mcm-theme';
const stored = localStorage.getItem(STORED);

export const theme = signal<Theme>(THEMES.find((each) => each === stored) ?? 'system');
/** Increases when the colors change. Drawings cannot use style sheets, so they read this signal. */
export const colors = signal(0);

export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? 'system';
  localStorage.setItem(STORED, theme.value);
}

export function startTheme(): void {
  effect(() => {
    if (theme.value === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme.value;
    colors.value = colors.peek() + 1;
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    colors.value += 1;
  });
}

/** Returns the current value of a color in the style sheet. */
export const colorOf = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
