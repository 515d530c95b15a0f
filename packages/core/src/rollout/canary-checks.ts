/** The result after the manager has read the pods of the canaries. */
export type CanaryCheck = 'Ready' | 'NotReady' | 'Unknown';

/** Reports the checks of the pods of canaries to the metrics. */
export class CanaryChecks {
  #handler: (check: CanaryCheck) => void = () => undefined;

  onCheck(handler: (check: CanaryCheck) => void): void {
    this.#handler = handler;
  }

  checked(check: CanaryCheck): void {
    this.#handler(check);
  }
}
