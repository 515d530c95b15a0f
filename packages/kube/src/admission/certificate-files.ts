import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorText } from '../base/error-text.ts';
import { type Clock, pause } from '../clock/clock.ts';
import type { Logger } from '../contract/logger.ts';
import { ConfigError } from '../credentials/cluster-config.ts';
import { mustNotHaveExpired } from '../credentials/key-pair.ts';
import type { ServingPair } from './server.ts';

/** The directory with `tls.crt` and `tls.key`, such as a mounted Secret of type kubernetes.io/tls. */
export interface CertificateFiles {
  readonly directory: string;
  readonly flag: string;
}

/** Receives the certificates from a directory, and the errors about the certificates. */
export interface ServedCertificate {
  use(pair: ServingPair, from?: string): void;
  unusable(sentence: string | undefined): void;
}

/**
 * The interval between two checks of the certificate files. A kubelet needs about a minute to update a mounted Secret,
 * so mcm checks the files only once a minute.
 */
const LOOK_MS = 10_000;

const nameOf = ({ directory, flag }: CertificateFiles): string => `${flag} ${directory}`;

async function read(files: CertificateFiles): Promise<ServingPair> {
  try {
    const [cert = '', key = ''] = await Promise.all(
      ['tls.crt', 'tls.key'].map((name) => readFile(join(files.directory, name), 'utf8')),
    );
    // TLS would accept an empty certificate file, and a file is empty while a client writes it.
    const belongs = new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
    if (!belongs) throw new Error('the key does not belong to the certificate');
    return { cert, key };
  } catch (error) {
    throw new ConfigError(
      `${nameOf(files)}: must contain tls.crt and the matching tls.key in PEM: ${errorText(error)}`,
    );
  }
}

/**
 * Serves the certificate and the key in a directory. While the certificate files are invalid, the server continues to
 * use the previous pair.
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
      // A client may write the two certificate files one after the other, so only two failed checks in a row report an
      // error.
      if (sentence === doubt) served.unusable(`${sentence}; continuing with the previous certificate`);
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
  return { server, close: () => stop.abort(new Error('the server no longer uses the certificate')) };
}
