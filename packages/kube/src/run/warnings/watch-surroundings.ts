import { errorText } from '../../base/error-text.ts';
import { type Clock, pause } from '../../clock/clock.ts';
import type { KubeClient } from '../../contract/client.ts';
import type { Logger } from '../../contract/logger.ts';
import type { Meters } from '../../metrics/meters.ts';
import { expiryMeter, judgeCertificate } from './certificates.ts';
import { checkCrds } from './check-crds.ts';
import type { ExpectedCrd } from './crd-fields.ts';
import type { CertificatesInUse } from './in-use.ts';
import type { Warnings } from './warnings.ts';

/** What is looked at now and then, because nothing tells of it. */
export interface SurroundingsWatch {
  readonly clock: Clock;
  readonly log: Logger;
  readonly meters: Meters;
  readonly warnings: Warnings;
  /** Another one is looked at at once. */
  readonly certificates: CertificatesInUse;
  readonly crds: readonly ExpectedCrd[];
  /** Aborts when the API server has answered as one: nobody else can tell of CRDs. */
  readonly reached: AbortSignal;
  /** Of the cluster with the CRDs. */
  readonly client: KubeClient;
}

/** Certificates are issued for days, and CRDs change with a release. */
const LOOK_MS = 3_600_000;
/** While something is wrong somebody is mending it. */
const LOOK_AGAIN_MS = 60_000;

/** Looks at certificates at once, at CRDs as soon as the API server is reached, and from then on until the signal aborts. Never rejects. */
export async function watchSurroundings(options: SurroundingsWatch, signal: AbortSignal): Promise<void> {
  const { clock, warnings, meters } = options;
  const expires = expiryMeter(meters);
  while (!signal.aborted) {
    const { changed } = options.certificates;
    judgeAll(options, expires);
    const { reached } = options;
    const wrong = !(reached.aborted && (await compared(options, signal)));
    const again = wrong || warnings.has('crd') || warnings.has('certificate');
    const sooner = reached.aborted ? [signal, changed] : [signal, changed, reached];
    await pause(clock, again ? LOOK_AGAIN_MS : LOOK_MS, AbortSignal.any(sooner));
  }
}

/** Compares the CRDs; false when that was not possible. */
async function compared({ client, crds, warnings, log }: SurroundingsWatch, signal: AbortSignal): Promise<boolean> {
  try {
    await checkCrds(client, crds, warnings, signal);
    return true;
  } catch (error) {
    // Whoever cannot ask is told by those who need an answer.
    if (!signal.aborted) log.debug('Cannot compare the CRDs', { error: errorText(error) });
    return false;
  }
}

function judgeAll(
  { certificates, clock, warnings }: SurroundingsWatch,
  expires: (value: number, labels: Readonly<Record<string, string>>) => void,
): void {
  for (const certificate of certificates.list()) {
    const { what } = certificate;
    const { sentence, endsAt } = judgeCertificate(certificate, clock.now());
    if (endsAt !== undefined) expires(endsAt / 1000, { what });
    if (sentence === undefined) warnings.clear('certificate', what);
    else warnings.raise('certificate', what, sentence);
  }
}
