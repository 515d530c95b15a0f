export { warnOfAddress } from './address.ts';
export type { ExpectedCrd } from './crd-fields.ts';
export { CertificatesInUse, servedCertificate } from './in-use.ts';
export { checkMemory } from './memory.ts';
export { compareVersions } from './versions.ts';
export { Warnings } from './warnings.ts';
export { AnswerWatcher, type CredentialPlaces } from './watch-answers.ts';

import type { Clock } from '../../clock/clock.ts';
import type { Logger } from '../../contract/logger.ts';
import type { Meters } from '../../metrics/meters.ts';
import { expiryMeter } from './certificates.ts';
import { Warnings } from './warnings.ts';
import { AnswerWatcher } from './watch-answers.ts';

/** Registers the metrics of warnings. */
export function registerWarningMetrics(of: {
  readonly clock: Clock;
  readonly log: Logger;
  readonly meters: Meters;
}): void {
  new AnswerWatcher({ ...of, warnings: new Warnings(of.log, of.meters) });
  expiryMeter(of.meters);
}
