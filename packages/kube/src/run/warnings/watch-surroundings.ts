import type { KubeClient } from '../../client.ts';
import { type Clock, pause } from '../../clock.ts';
import { errorText } from '../../error-text.ts';
import type { Logger } from '../../logger.ts';
import type { Meters } from '../../metrics/meters.ts';
import { type CertificateInUse, expiryMeter, judgeCertificate } from './certificates.ts';
import { checkCrds } from './check-crds.ts';
import type { ExpectedCrd } from './crd-fields.ts';
import type { Warnings } from './warnings.ts';

/** What is looked at now and then, because nothing tells of it. */
export interface SurroundingsWatch {
  readonly clock: Clock;
  readonly log: Logger;
  readonly meters: Meters;
  readonly warnings: Warnings;
  /** Those in use now. */
  readonly certificates: () => readonly CertificateInUse[];
  /** Aborts when there is another certificate, which is then looked at at once. */
  readonly changed: () => AbortSignal;
  readonly crds: readonly ExpectedCrd[];
  /** Of the cluster with the CRDs. */
  readonly client: KubeClient;
}

/** Certificates are issued for days, and CRDs change with a release. */
const LOOK_MS = 3_600_000;
/** While something is wrong somebody is mending it. */
const LOOK_AGAIN_MS = 60_000;

/** Looks at certificates and CRDs at once, and from then on until the signal aborts. Never rejects. */
export async function watchSurroundings(options: SurroundingsWatch, signal: AbortSignal): Promise<void> {
  const { clock, log, warnings, client, crds, meters } = options;
  const expires = expiryMeter(meters);
  while (!signal.aborted) {
    const changed = options.changed();
    judgeAll(options, expires);
    let wrong = false;
    try {
      await checkCrds(client, crds, warnings, signal);
    } catch (error) {
      // Whoever cannot ask is told by those who need an answer.
      if (!signal.aborted) log.debug('the CRDs could not be compared', { error: errorText(error) });
      wrong = true;
    }
    wrong ||= warnings.has('crd') || warnings.has('certificate');
    await pause(clock, wrong ? LOOK_AGAIN_MS : LOOK_MS, AbortSignal.any([signal, changed]));
  }
}

function judgeAll(
  { certificates, clock, warnings }: SurroundingsWatch,
  expires: (value: number, labels: Readonly<Record<string, string>>) => void,
): void {
  for (const certificate of certificates()) {
    const { what } = certificate;
    const { sentence, endsAt } = judgeCertificate(certificate, clock.now());
    if (endsAt !== undefined) expires(endsAt / 1000, { what });
    if (sentence === undefined) warnings.clear('certificate', what);
    else warnings.raise('certificate', what, sentence);
  }
}
