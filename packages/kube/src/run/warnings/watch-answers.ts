import type { RequestSample } from '../../client/exchange.ts';
import type { Clock } from '../../clock/clock.ts';
import type { KubeError } from '../../contract/errors.ts';
import { grantText, permissionOf, permissionText, refusedPermission } from '../../informer/permission.ts';
import type { Meters } from '../../metrics/meters.ts';
import { untrustedSentence } from './certificates.ts';
import { skewSentence, surelySkewed } from './clock-skew.ts';
import type { Warnings } from './warnings.ts';

/** The sources of the credentials for an API server, for messages. */
export interface CredentialPlaces {
  readonly authority?: string | undefined;
  readonly shown: string;
}

export interface AnswerWatch {
  readonly observe: (sample: RequestSample) => void;
  readonly refused: (error: KubeError) => void;
}

/** Updates metrics and warnings after each response to a client. */
export class AnswerWatcher {
  readonly #clock: Clock;
  readonly #warnings: Warnings;
  readonly #skew: (value: number, labels: Readonly<Record<string, string>>) => void;
  readonly #refusals: (labels: Readonly<Record<string, string>>) => void;

  constructor({
    clock,
    warnings,
    meters,
  }: { readonly clock: Clock; readonly warnings: Warnings; readonly meters: Meters }) {
    this.#clock = clock;
    this.#warnings = warnings;
    this.#skew = meters.gauge({
      name: 'apiserver_clock_skew_seconds',
      help: 'Minimum difference between the clocks of the API server and this process, from the most recent response. A negative value means that the clock of the API server is behind',
      labels: ['cluster'],
    });
    this.#refusals = meters.counter({
      name: 'rest_client_forbidden_requests_total',
      help: 'Number of requests that the API server rejected because of a missing permission',
      labels: ['cluster', 'verb', 'resource', 'group'],
    });
  }

  /** Returns the observer for the responses of one cluster. */
  of(cluster: string, places: CredentialPlaces): AnswerWatch {
    return {
      observe: (sample) => {
        this.#assessTrust(cluster, sample, places);
        this.#assessClock(cluster, sample);
        this.#assessAllowed(cluster, sample);
      },
      refused: ({ code, message }) => {
        const permission = code === 403 ? refusedPermission(message) : undefined;
        if (permission === undefined) return;
        this.#refusals({ cluster, ...permission });
        const missingPermission = permissionText(permission);
        this.#warnings.raise(
          'forbidden',
          `${cluster}: ${missingPermission}`,
          `the process has no permission to ${missingPermission} in the ${cluster} cluster. The controllers that need the permission wait. Apply the RBAC roles of this mcm version (mcm install, docs/permissions.md), or grant ${grantText(permission)}`,
        );
      },
    };
  }

  #assessTrust(cluster: string, { code, failure }: RequestSample, { authority, shown }: CredentialPlaces): void {
    const subject = `${cluster} API server`;
    const sentence = code === 0 ? untrustedSentence(cluster, failure, authority) : undefined;
    if (sentence !== undefined) this.#warnings.raise('certificate', subject, sentence);
    if (code === 0) return;
    this.#warnings.clear('certificate', subject);
    if (code !== 401) this.#warnings.clear('credentials', subject);
    else
      this.#warnings.raise(
        'credentials',
        subject,
        `the ${cluster} API server refuses the credentials of ${shown} (401); use a valid client certificate or token`,
      );
  }

  #assessClock(cluster: string, { date, ms }: RequestSample): void {
    const at = date === undefined ? Number.NaN : Date.parse(date);
    if (Number.isNaN(at)) return;
    const receivedAt = this.#clock.now().getTime();
    const skewMs = surelySkewed({ sentAt: receivedAt - ms, receivedAt, date: at });
    this.#skew(skewMs / 1000, { cluster });
    const sentence = skewSentence(cluster, skewMs);
    if (sentence === undefined) this.#warnings.clear('clock-skew', cluster);
    // The log contains the warning only once, because the metric shows the current difference between the clocks.
    else if (!this.#warnings.has('clock-skew', cluster)) this.#warnings.raise('clock-skew', cluster, sentence);
  }

  #assessAllowed(cluster: string, { method, path, code }: RequestSample): void {
    if (code < 200 || code >= 300 || !this.#warnings.has('forbidden')) return;
    const permission = permissionOf(method, path);
    if (permission !== undefined) this.#warnings.clear('forbidden', `${cluster}: ${permissionText(permission)}`);
  }
}
