import { createPrivateKey, X509Certificate } from 'node:crypto';
import { watch } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock, Timer } from '../clock.ts';
import { ConfigError } from '../credentials/cluster-config.ts';
import { errorText } from '../error-text.ts';
import type { Logger } from '../logger.ts';
import type { ServingPair } from './server.ts';

/** Both files of a mounted Secret change by one rename; other tools write them one after the other. */
const SETTLE_MS = 200;

/**
 * Reads `tls.crt` and `tls.key` of a directory, as a Secret of type kubernetes.io/tls is mounted.
 * @param flag What named the directory.
 * @throws ConfigError that names flag and directory when they are missing or do not belong together.
 */
export async function readCertificateFiles(directory: string, flag = '--webhook-cert-dir'): Promise<ServingPair> {
  try {
    const [cert = '', key = ''] = await Promise.all(
      ['tls.crt', 'tls.key'].map((name) => readFile(join(directory, name), 'utf8')),
    );
    // TLS itself would take a file that is empty because it is just being written.
    const belongs = new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
    if (!belongs) throw new Error('the key is not that of the certificate');
    return { cert, key };
  } catch (error) {
    throw new ConfigError(`${flag} ${directory}: must hold tls.crt and its tls.key in PEM: ${errorText(error)}`);
  }
}

/** Calls `use` with each later pair of files that belongs together; the one before stays in use until then. */
export function watchCertificateFiles(
  directory: string,
  {
    clock,
    log,
    use,
    flag,
  }: {
    readonly clock: Clock;
    readonly log: Logger;
    readonly use: (pair: ServingPair) => void;
    /** What named the directory, for the log. */
    readonly flag?: string;
  },
): { close(): void } {
  let timer: Timer | undefined;
  const reload = (): void => {
    readCertificateFiles(directory, flag).then(
      (pair) => {
        use(pair);
        log.info('Serving with a new certificate', { directory });
      },
      (error: unknown) => log.warn('Keeping the old serving certificate', { error: errorText(error) }),
    );
  };
  const watcher = watch(directory, () => {
    timer?.cancel();
    timer = clock.setTimeout(reload, SETTLE_MS);
  });
  return {
    close: () => {
      timer?.cancel();
      watcher.close();
    },
  };
}
