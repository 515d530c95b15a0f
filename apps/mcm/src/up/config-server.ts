import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { issueAuthority, issueServing, realClock } from '@mcm/kube';
import { pointerConfig } from '@mcm/machine-config';
import { type DataDir, readIfThere } from './data-dir.ts';

const HOST = '127.0.0.1';
/** As long as a data directory can be hoped to live. */
const VALID_MS = 10 * 365 * 86_400_000;
const HOUR_MS = 3_600_000;

/** Where machines of a directory's fleet get the configuration of their first boot. */
export interface ConfigServerPlace {
  readonly port: number;
  /** Holds `tls.crt` and `tls.key`. */
  readonly certificates: string;
  /** Whom machines are to trust, PEM. */
  readonly authority: string;
}

/** Finds the place, or makes it: a free port, and certificates that are kept with the directory. */
export async function configServerPlace(data: DataDir): Promise<ConfigServerPlace> {
  const certificates = data.file('config-server');
  const authority = readIfThere(data.file('config-server', 'ca.crt')) ?? (await issue(data, certificates));
  return { port: data.state?.configPort ?? (await freePort()), certificates, authority };
}

async function issue(data: DataDir, directory: string): Promise<string> {
  const now = realClock.now().getTime();
  const validity = { from: new Date(now - HOUR_MS), until: new Date(now + VALID_MS) };
  const authority = await issueAuthority(validity, 'first boots');
  const { cert, key } = await issueServing(authority, [HOST], validity);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const put = (name: string, text: string) => writeFileSync(data.file('config-server', name), text, { mode: 0o600 });
  put('tls.key', key);
  put('tls.crt', cert);
  // The last one: without it all are made again. Nobody signs with the authority again, so its key is not kept.
  put('ca.crt', authority.cert);
  return authority.cert;
}

/** A port that nobody listens on now. */
const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, HOST, () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });

/** Adds to a machine's user data where the configuration of its pool is. */
export const pointingTo = (userData: string, { port, authority }: ConfigServerPlace, pool: string): string =>
  `${JSON.stringify(
    {
      ...(JSON.parse(userData) as object),
      ...pointerConfig({ server: `https://${HOST}:${port}`, pool, authority, token: '<<BOOTSTRAP_TOKEN>>' }),
    },
    null,
    2,
  )}\n`;
