import { type Clock, sleep, type Transport, type TransportRequest, type TransportResponse } from '@mcm/kube';
import { type FaultRule, type FaultRuleInput, faultRule } from './rule.ts';

export type OperationFault = Pick<FaultRule, 'failOperation' | 'operationMs' | 'visibleAfterMs'>;

interface Ordered {
  readonly id: string;
  readonly rule: FaultRule;
  met: number;
  tokens: number;
  at: number;
}

/** Creates error responses in the format of a cloud. */
export interface Refuser {
  refuse(label: string, refusal: NonNullable<FaultRule['refuse']>): TransportResponse;
  throttle(label: string, retryAfter: number | undefined): TransportResponse;
}

/** Simulates the faults of a cloud by rules. */
export class Faults {
  readonly #clock: Clock;
  readonly #rules: Ordered[] = [];
  #number = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * @returns the ID of the rule
   * @throws ZodError for an invalid rule, or SyntaxError for an invalid regular expression
   */
  order(input: FaultRuleInput): string {
    const rule = faultRule.parse(input);
    for (const pattern of [rule.on, rule.body ?? '']) new RegExp(pattern);
    const id = `fault-${++this.#number}`;
    this.#rules.push({ id, rule, met: 0, tokens: Math.max(rule.perSecond ?? 0, 1), at: this.#now() });
    return id;
  }

  /** @returns true if the rule existed */
  lift(id: string): boolean {
    const index = this.#rules.findIndex((each) => each.id === id);
    if (index >= 0) this.#rules.splice(index, 1);
    return index >= 0;
  }

  clear(): void {
    this.#rules.length = 0;
  }

  list(): readonly { readonly id: string; readonly rule: FaultRule; readonly met: number }[] {
    return this.#rules.map(({ id, rule, met }) => ({ id, rule, met }));
  }

  /** @param labelOf Returns the operation name of a request, which fault rules match */
  before(
    carryOut: (request: TransportRequest, fault: OperationFault) => Promise<TransportResponse>,
    labelOf: (request: TransportRequest) => string,
    refuser: Refuser,
  ): Transport {
    return async (request) => {
      const label = labelOf(request);
      for (const rule of this.#meet(label, `${request.path} ${request.body ?? ''}`)) {
        if (rule.delayMs !== undefined) await sleep(this.#clock, rule.delayMs, request.signal);
        if (rule.perSecond !== undefined) return refuser.throttle(label, rule.retryAfter);
        if (rule.lose === 'before') throw new ConnectionLost();
        if (rule.refuse) return refuser.refuse(label, rule.refuse);
        if (rule.lose === 'after') {
          await carryOut(request, rule);
          throw new ConnectionLost();
        }
        if (rule.failOperation || rule.operationMs !== undefined || rule.visibleAfterMs !== undefined)
          return carryOut(request, rule);
      }
      return carryOut(request, {});
    };
  }

  /** Returns the rules that apply to a request. */
  *#meet(label: string, text: string): Iterable<FaultRule> {
    for (const ordered of [...this.#rules]) {
      const { rule } = ordered;
      if (!new RegExp(rule.on).test(label) || (rule.body !== undefined && !new RegExp(rule.body, 's').test(text)))
        continue;
      if (rule.perSecond !== undefined && this.#admits(ordered)) continue;
      const met = ordered.met++;
      const from = rule.after ?? 0;
      if (met >= from && met < from + (rule.times ?? Number.POSITIVE_INFINITY)) yield rule;
    }
  }

  #admits(ordered: Ordered): boolean {
    const { perSecond = 0 } = ordered.rule;
    const now = this.#now();
    ordered.tokens = Math.min(ordered.tokens + ((now - ordered.at) / 1_000) * perSecond, Math.max(perSecond, 1));
    ordered.at = now;
    if (ordered.tokens < 1) return false;
    ordered.tokens--;
    return true;
  }

  #now(): number {
    return this.#clock.now().getTime();
  }
}

/** Simulates a fault: the emulator closes the connection without a response. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';

  constructor() {
    super('connection closed');
  }
}
