import { namespace, query } from '../filters.ts';
import { path } from '../router.ts';
import { connection, fleet, login, namespaces, watched } from '../store.ts';
import { nextTheme, theme } from '../theme.ts';

const PAGES = [
  ['/', 'Fleet'],
  ['/machines', 'Machines'],
  ['/rollouts', 'Rollouts'],
  ['/drains', 'Drains'],
  ['/events', 'Events'],
  ['/system', 'System'],
] as const;

const CLUSTERS = ['/clusters', 'Clusters'] as const;

const STATES = { connecting: 'Connecting', live: 'Live', lost: 'Connection lost. Reconnecting' } as const;

const isCurrent = (href: string): boolean => (href === '/' ? path.value === '/' : path.value.startsWith(href));

function Namespaces() {
  if (watched.value !== '') return <span class="quiet namespace">{watched.value}</span>;
  return (
    <label class="choice">
      <span class="hidden">Namespace</span>
      <select value={namespace.value} onChange={({ currentTarget }) => (namespace.value = currentTarget.value)}>
        <option value="">All namespaces</option>
        {namespaces.value.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

export function Header() {
  const pages = fleet.value === '' ? PAGES : [CLUSTERS, ...PAGES];
  return (
    <header>
      <a class="skip" href="#content">
        Skip to content
      </a>
      <a class="home" href="/">
        mcm
      </a>
      <nav aria-label="Pages">
        {pages.map(([href, text]) => (
          <a key={href} href={href} aria-current={isCurrent(href) ? 'page' : undefined}>
            {text}
          </a>
        ))}
      </nav>
      <span class="grow" />
      <Namespaces />
      <input
        type="search"
        aria-label="Search name, state, node, class or zone"
        placeholder="Search"
        value={query.value}
        onInput={({ currentTarget }) => (query.value = currentTarget.value)}
      />
      <button type="button" class="theme" onClick={nextTheme}>
        Theme: {theme.value}
      </button>
      {login.value && (
        <form method="post" action="/logout">
          <button type="submit" class="theme">
            Log out
          </button>
        </form>
      )}
      <span class={`connection ${connection.value}`} role="status">
        {STATES[connection.value]}
      </span>
    </header>
  );
}
