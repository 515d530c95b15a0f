import type { Clock } from '../../clock/clock.ts';
import { LOG_LEVELS, type LogLevel } from '../../log/memory-logger.ts';
import type { DebugPages } from './debug-pages.ts';
import { type ProfileKind, profileSeconds, recordProfile } from './profile.ts';

/** A check of the process, which `/readyz?verbose` shows as one line. */
export interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
}

export interface HealthSources {
  alive(): boolean;
  readiness(): readonly Check[];
  scrape(): Promise<{ readonly contentType: string; readonly text: string }>;
  settings(): Readonly<Record<string, unknown>>;
  readonly logLevel: { get(): LogLevel | 'silent'; set(level: LogLevel | 'silent'): void };
  readonly profiling: boolean;
  readonly pages: DebugPages;
  readonly clock: Clock;
}

export interface HealthRequest {
  readonly method: string;
  readonly target: string;
  readonly body: () => Promise<string>;
  readonly signal: AbortSignal;
}

export interface HealthAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** The clients that may request a path, because only health endpoints are open to every client. */
export type Audience = 'anyone' | 'metrics' | 'debug';

export function audienceOf(path: string): Audience {
  if (path === '/metrics') return 'metrics';
  return path === '/configz' || path.startsWith('/debug/') ? 'debug' : 'anyone';
}

const plain = (status: number, body: string): HealthAnswer => ({
  status,
  contentType: 'text/plain; charset=utf-8',
  body,
});

const json = (body: string): HealthAnswer => ({ status: 200, contentType: 'application/json', body });

const line = ({ name, ok, detail }: Check): string => {
  const words = ok ? detail || 'ok' : `failed: ${detail || 'not ready'}`;
  return `[${ok ? '+' : '-'}]${name} ${words}\n`;
};

function readiness(checks: readonly Check[], verbose: boolean): HealthAnswer {
  const ready = checks.every((check) => check.ok);
  if (ready && !verbose) return plain(200, 'ok');
  const verdict = `readyz check ${ready ? 'passed' : 'failed'}\n`;
  return plain(ready ? 200 : 500, checks.map(line).join('') + verdict);
}

async function logLevel({ method, body }: HealthRequest, level: HealthSources['logLevel']): Promise<HealthAnswer> {
  if (method !== 'PUT') return plain(200, `${level.get()}\n`);
  const wanted = (await body()).trim();
  const known = LOG_LEVELS.find((name) => name === wanted);
  if (known === undefined) return plain(400, `PUT one of ${LOG_LEVELS.join(', ')}\n`);
  level.set(known);
  return plain(200, `${known}\n`);
}

async function profile(kind: ProfileKind, query: URLSearchParams, { signal }: HealthRequest, sources: HealthSources) {
  if (!sources.profiling) return plain(403, 'recording profiles requires --profiling\n');
  try {
    const seconds = profileSeconds(query.get('seconds'));
    const recorded = await recordProfile(kind, { clock: sources.clock, seconds, signal });
    return recorded === undefined ? plain(409, 'another profile is being recorded; try again later\n') : json(recorded);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return plain(400, `${error.message}\n`);
  }
}

const DEBUG_INDEX = `Usage: GET one of the paths.
/debug/log-level            the log level; PUT one of ${LOG_LEVELS.join(', ')}
/debug/pprof/profile?seconds=30   CPU profile, for Chromium's developer tools (.cpuprofile); needs --profiling
/debug/pprof/heap?seconds=30      sampled allocations (.heapprofile); needs --profiling
/configz                          the settings in effect
`;

/**
 * Returns the response of a health, metrics, settings or debug endpoint, or undefined for any other path. The caller of
 * `answerHealth` must check whether the client has access to the path.
 */
export async function answerHealth(request: HealthRequest, sources: HealthSources): Promise<HealthAnswer | undefined> {
  const [path = '', search] = request.target.split('?', 2);
  const query = new URLSearchParams(search ?? '');
  if (request.method !== 'GET' && request.method !== 'HEAD' && path !== '/debug/log-level') {
    return plain(405, 'only GET\n');
  }
  switch (path) {
    case '/healthz':
    case '/livez':
      return sources.alive() ? plain(200, 'OK') : plain(500, 'Unhealthy');
    case '/readyz':
      return readiness(sources.readiness(), query.has('verbose'));
    case '/metrics': {
      const { contentType, text } = await sources.scrape();
      return { status: 200, contentType, body: text };
    }
    case '/configz':
      return json(JSON.stringify(sources.settings()));
    case '/debug/':
    case '/debug/pprof/':
      return plain(200, DEBUG_INDEX + sources.pages.index());
    case '/debug/log-level':
      return logLevel(request, sources.logLevel);
    case '/debug/pprof/profile':
      return profile('profile', query, request, sources);
    case '/debug/pprof/heap':
      return profile('heap', query, request, sources);
    default:
      return furtherPage(path, query, sources);
  }
}

async function furtherPage(
  path: string,
  query: URLSearchParams,
  { pages }: HealthSources,
): Promise<HealthAnswer | undefined> {
  const page = pages.get(path);
  if (page === undefined) return undefined;
  try {
    return { status: 200, ...(await page.answer(query)) };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return plain(400, `${error.message}\n`);
  }
}
