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

export interface EnvironmentWatch {
  readonly clock: Clock;
  readonly log: Logger;
  readonly meters: Meters;
  readonly warnings: Warnings;
  readonly certificates: CertificatesInUse;
  readonly crds: readonly ExpectedCrd[];
  readonly reached: AbortSignal;
  readonly client: KubeClient;
}

/** The interval between two checks: certificates are valid for days, and CRDs change only with a release of mcm. */
const LOOK_MS = 3_600_000;
/** The interval between two checks during a warning, because a user is probably fixing the problem. */
const LOOK_AGAIN_MS = 60_000;

/** Checks certificates immediately, and CRDs after the first response of the API server. The promise never rejects. */
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

/** Compares the CRDs of the API server with the expected CRDs. */
async function compared({ client, crds, warnings, log }: EnvironmentWatch, signal: AbortSignal): Promise<boolean> {
  try {
    await checkCrds(client, crds, warnings, signal);
    return true;
  } catch (error) {
    // The controllers report an unreachable API server, so the check of the CRDs only logs at debug level.
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
