/** One line of `/readyz?verbose`. */
export interface Check {
  readonly name: string;
  readonly ok: boolean;
  /** What is waited for, or what failed; shown for passing checks too. */
  readonly detail: string;
}

export interface HealthSources {
  /** False while the process stops. */
  alive(): boolean;
  readiness(): readonly Check[];
  scrape(): Promise<{ readonly contentType: string; readonly text: string }>;
  /** The effective settings, without secrets. */
  settings(): Readonly<Record<string, unknown>>;
}

export interface HealthAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

const plain = (status: number, body: string): HealthAnswer => ({
  status,
  contentType: 'text/plain; charset=utf-8',
  body,
});

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

/** Answers `/healthz`, `/livez`, `/readyz[?verbose]`, `/metrics` and `/configz`; undefined for other paths. */
export async function answerHealth(target: string, sources: HealthSources): Promise<HealthAnswer | undefined> {
  const [path, search] = target.split('?', 2);
  switch (path) {
    case '/healthz':
    case '/livez':
      return sources.alive() ? plain(200, 'OK') : plain(500, 'Unhealthy');
    case '/readyz':
      return readiness(sources.readiness(), new URLSearchParams(search ?? '').has('verbose'));
    case '/metrics': {
      const { contentType, text } = await sources.scrape();
      return { status: 200, contentType, body: text };
    }
    case '/configz':
      return { status: 200, contentType: 'application/json', body: JSON.stringify(sources.settings()) };
    default:
      return undefined;
  }
}
