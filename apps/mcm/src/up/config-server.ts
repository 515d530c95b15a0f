import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { issueAuthority, issueServing, realClock } from '@mcm/kube';
import { pointerConfig } from '@mcm/machine-config';
import { type DataDir, readIfThere } from '../instance/data-dir.ts';

const HOST = '127.0.0.1';
/** The lifetime of the certificates. Nothing renews the certificates of a data directory, so their lifetime is long. */
const VALID_MS = 10 * 365 * 86_400_000;
const HOUR_MS = 3_600_000;

/**
 * The address and certificates of the config server, from which machines get the configuration for their first boot.
 */
export interface ConfigServerPlace {
  readonly port: number;
  readonly certificates: string;
  readonly authority: string;
}

/** Reads the address and certificates of the config server. */
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
  // `ca.crt` is the last file that is written. If `ca.crt` is missing, all certificates are created again. The key of
  // the CA signs only one certificate, so the key is not stored.
  put('ca.crt', authority.cert);
  return authority.cert;
}

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

export const pointingTo = (userData: string, { port, authority }: ConfigServerPlace, pool: string): string =>
  `${JSON.stringify(
    {
      ...(JSON.parse(userData) as object),
      ...pointerConfig({ server: `https://${HOST}:${port}`, pool, authority, token: '<<BOOTSTRAP_TOKEN>>' }),
    },
    null,
    2,
  )}\n`;
