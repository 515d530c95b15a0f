import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorText } from '../base/error-text.ts';
import { type Clock, pause } from '../clock/clock.ts';
import type { Logger } from '../contract/logger.ts';
import { ConfigError } from '../credentials/cluster-config.ts';
import { mustNotHaveExpired } from '../credentials/key-pair.ts';
import type { ServingPair } from './server.ts';

/** A directory with `tls.crt` and `tls.key`, as a Secret of type kubernetes.io/tls is mounted. */
export interface CertificateFiles {
  readonly directory: string;
  /** What named it. */
  readonly flag: string;
}

/** Who is told of a certificate that is served. */
export interface ServedCertificate {
  /** It is served from now on. @param from where it was read */
  use(pair: ServingPair, from?: string): void;
  /** Why that in its files is not, in place of the one before; undefined: it is. */
  unusable(sentence: string | undefined): void;
}

/** A kubelet takes a minute to bring a Secret that has changed. */
const LOOK_MS = 10_000;

/** For sentences. */
const nameOf = ({ directory, flag }: CertificateFiles): string => `${flag} ${directory}`;

/** @throws ConfigError that names flag and directory when files are missing or do not belong together */
async function read(files: CertificateFiles): Promise<ServingPair> {
  try {
    const [cert = '', key = ''] = await Promise.all(
      ['tls.crt', 'tls.key'].map((name) => readFile(join(files.directory, name), 'utf8')),
    );
    // TLS itself would take a file that is empty because it is just being written.
    const belongs = new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
    if (!belongs) throw new Error('the key is not that of the certificate');
    return { cert, key };
  } catch (error) {
    throw new ConfigError(`${nameOf(files)}: must hold tls.crt and its tls.key in PEM: ${errorText(error)}`);
  }
}

/**
 * Starts to serve with the pair of a directory, and goes over to each later one that belongs together; the one before stays in
 * use until then.
 * @throws ConfigError that names flag and directory when there is no such pair at the start
 */
export async function serveCertificateFiles<S extends { use(pair: ServingPair): void }>(
  files: CertificateFiles,
  serve: (pair: ServingPair) => Promise<S>,
  { clock, log, served }: { readonly clock: Clock; readonly log: Logger; readonly served: ServedCertificate },
): Promise<{ readonly server: S; close(): void }> {
  const from = nameOf(files);
  let current = await read(files);
  const server = await serve(current);
  served.use(current, from);
  let doubt: string | undefined;
  const look = async (): Promise<void> => {
    try {
      const pair = await read(files);
      const isOther = pair.cert !== current.cert || pair.key !== current.key;
      if (isOther) mustNotHaveExpired({ text: pair.cert, from }, clock.now());
      doubt = undefined;
      served.unusable(undefined);
      if (!isOther) return;
      server.use(pair);
      current = pair;
      served.use(pair, from);
      log.info('Serving with a new certificate', { directory: files.directory });
    } catch (error) {
      const sentence = errorText(error);
      // Seen once, the files may just be written, one after the other.
      if (sentence === doubt) served.unusable(`${sentence}; the certificate before stays in use`);
      doubt = sentence;
    }
  };
  const stop = new AbortController();
  const follow = async (): Promise<void> => {
    for (;;) {
      await pause(clock, LOOK_MS, stop.signal);
      if (stop.signal.aborted) return;
      await look();
    }
  };
  void follow();
  return { server, close: () => stop.abort(new Error('it is served no more')) };
}
