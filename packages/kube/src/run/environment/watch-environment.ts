import { errorText } from '../../base/error-text.ts';
import { type Clock, pause } from '../../clock/clock.ts';
import type { KubeClient } from '../../contract/client.ts';
import type { Logger } from '../../contract/logger.ts';
import type { Meters } from '../../metrics/meters.ts';
import { checkCertificate, expiryMeter } from '../warnings/certificates.ts';
import type { ExpectedCrd } from '../warnings/crd-fields.ts';
import type { CertificatesInUse } from '../warnings/in-use.ts';
import type { Warnings } from '../warnings/warnings.ts';
import { checkCrds } from './check-crds.ts';

/** Options of the periodic checks, which poll because no event reports an expiry or a changed CRD. */
export interface EnvironmentWatch {
  readonly clock: Clock;
  readonly log: Logger;
  readonly meters: Meters;
  readonly warnings: Warnings;
  /** The certificates in use; a changed certificate is checked immediately. */
  readonly certificates: CertificatesInUse;
  readonly crds: readonly ExpectedCrd[];
  /** `reached` aborts at the first answer of the API server. Before this answer, the process cannot check CRDs. */
  readonly reached: AbortSignal;
  readonly client: KubeClient;
}

/** Interval of the checks. Certificates are valid for days, and CRDs change only with a release of mcm. */
const LOOK_MS = 3_600_000;
/** Interval of the checks during a warning, short because a user is probably fixing the problem. */
const LOOK_AGAIN_MS = 60_000;

/**
 * Checks certificates immediately, and CRDs when the API server has responded, and repeats both checks until the signal
 * aborts. The promise never rejects.
 */
export async function watchEnvironment(options: EnvironmentWatch, signal: AbortSignal): Promise<void> {
  const { clock, warnings, meters } = options;
  const expires = expiryMeter(meters);
  while (!signal.aborted) {
    const { changed } = options.certificates;
    assessAll(options, expires);
    const { reached } = options;
    const wrong = !(reached.aborted && (await compared(options, signal)));
    const again = wrong || warnings.has('crd') || warnings.has('certificate');
    const sooner = reached.aborted ? [signal, changed] : [signal, changed, reached];
    await pause(clock, again ? LOOK_AGAIN_MS : LOOK_MS, AbortSignal.any(sooner));
  }
}

/** Compares the server's CRDs with the expected CRDs. Returns false if the server does not answer. */
async function compared({ client, crds, warnings, log }: EnvironmentWatch, signal: AbortSignal): Promise<boolean> {
  try {
    await checkCrds(client, crds, warnings, signal);
    return true;
  } catch (error) {
    // The controllers report an unreachable API server, so this check only logs at debug level.
    if (!signal.aborted) log.debug('Cannot compare the CRDs', { error: errorText(error) });
    return false;
  }
}

function assessAll(
  { certificates, clock, warnings }: EnvironmentWatch,
  expires: (value: number, labels: Readonly<Record<string, string>>) => void,
): void {
  for (const certificate of certificates.list()) {
    const { what } = certificate;
    const { sentence, endsAt } = checkCertificate(certificate, clock.now());
    if (endsAt !== undefined) expires(endsAt / 1000, { what });
    if (sentence === undefined) warnings.clear('certificate', what);
    else warnings.raise('certificate', what, sentence);
  }
}
