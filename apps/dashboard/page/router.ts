import { effect, signal } from '@preact/signals';
import { filterSearch, readFilters } from './filters.ts';

export const path = signal(location.pathname);

function go(href: string): void {
  const target = new URL(href, location.href);
  history.pushState(null, '', target);
  if (target.search !== '') readFilters(target.searchParams);
  path.value = target.pathname;
  scrollTo(0, 0);
  document.getElementById('content')?.focus({ preventScroll: true });
}

/** Handles clicks on links of the dashboard without a reload. */
export function startRouter(): void {
  readFilters(new URLSearchParams(location.search));
  addEventListener('popstate', () => {
    readFilters(new URLSearchParams(location.search));
    path.value = location.pathname;
  });
  document.addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    const other = event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
    if (link === null || other || event.defaultPrevented || link.target !== '' || link.origin !== location.origin)
      return;
    if (link.getAttribute('href')?.startsWith('#')) return;
    event.preventDefault();
    go(link.href);
  });
  effect(() => {
    const wanted = `${path.value}${filterSearch()}`;
    if (`${location.pathname}${location.search}` !== wanted) history.replaceState(null, '', wanted);
  });
}
