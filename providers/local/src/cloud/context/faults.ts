import type { Random } from '@mcm/kube';
import { z } from 'zod';
import { durationMs, kubeletBehaviour } from '../../machine/behaviour.ts';
import { CLOUD_ERRORS } from './errors.ts';

const latency = z.union([
  durationMs,
  z.strictObject({ min: durationMs, max: durationMs }).refine(({ min, max }) => min <= max, 'min must not exceed max'),
]);

/** The schema of a fault rule. The cloud applies the rules in the order of their creation. */
export const faultRule = z
  .strictObject({
    operation: z
      .string()
      .regex(/^(\*|[a-z]+\.(\*|[a-z]+))$/, 'must be an operation such as instances.create, or a pattern with *'),
    zone: z.string().optional(),
    machineType: z.string().optional(),
    /** The instance name, in which `*` matches any text. */
    instance: z.string().optional(),
    error: z
      .strictObject({
        code: z.string().min(1),
        status: z.int().min(400).max(599).optional(),
        message: z.string().optional(),
        retryAfterSeconds: z.int().nonnegative().optional(),
      })
      .optional(),
    /** The cloud does not respond. After the time `after` (default: 5 minutes), the client gets the response 504. */
    timeout: z.strictObject({ after: durationMs.optional() }).optional(),
    /** Whether the cloud performs the operation although the client gets an error or no response. */
    effect: z.boolean().optional(),
    latency: latency.optional(),
    stale: durationMs.optional(),
    /** For `instances.boot`: the behavior of the kubelet on a matching instance. */
    kubelet: kubeletBehaviour.optional(),
    probability: z.number().min(0).max(1).optional(),
    count: z.int().positive().optional(),
  })
  .refine((rule) => rule.error || rule.timeout || rule.latency || rule.stale || rule.kubelet, {
    message: 'must contain at least one of error, timeout, latency, stale, kubelet',
  });

/** A fault rule: the matching calls, and the effect on these calls. */
export type FaultRule = z.infer<typeof faultRule>;

/** An active fault rule, and the number of requests that it has affected. */
export interface OrderedFault extends FaultRule {
  readonly id: string;
  acted: number;
}

export interface FaultSubject {
  readonly zone?: string | undefined;
  readonly machineType?: string | undefined;
  readonly name?: string | undefined;
}

export interface FaultDecision {
  readonly latencyMs: number;
  readonly staleMs: number;
  readonly error?: {
    readonly code: string;
    readonly status: number;
    message: string;
    retryAfterSeconds?: number | undefined;
  };
  readonly timeoutMs?: number;
  readonly effect: boolean;
  readonly kubelet: readonly NonNullable<FaultRule['kubelet']>[];
}

const DEFAULT_TIMEOUT_MS = 300_000;

/** The active fault rules. */
export class Faults {
  readonly #random: Random;
  readonly #rules = new Map<string, OrderedFault>();
  #count = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  order(rule: FaultRule): OrderedFault {
    this.#count += 1;
    const fault: OrderedFault = { ...rule, id: `fault-${this.#count}`, acted: 0 };
    this.#rules.set(fault.id, fault);
    return fault;
  }

  list(): OrderedFault[] {
    return [...this.#rules.values()];
  }

  cancel(id: string): boolean {
    return this.#rules.delete(id);
  }

  clear(): void {
    this.#rules.clear();
  }

  /**
   * Decides at random which rules affect a request. If several rules delay the visible data, the longest delay is used.
   */
  decide(operation: string, subject: FaultSubject = {}): FaultDecision {
    let decision: FaultDecision = { latencyMs: 0, staleMs: 0, effect: false, kubelet: [] };
    for (const rule of this.#rules.values()) {
      if (!matches(rule, operation, subject)) continue;
      // A request can have only one failure.
      if ((rule.error || rule.timeout) && isFailing(decision)) continue;
      if (rule.probability !== undefined && this.#random.next() >= rule.probability) continue;
      rule.acted += 1;
      if (rule.count !== undefined && rule.acted >= rule.count) this.#rules.delete(rule.id);
      decision = this.#merge(decision, rule);
    }
    return decision;
  }

  #merge(decision: FaultDecision, rule: OrderedFault): FaultDecision {
    return {
      ...decision,
      latencyMs: decision.latencyMs + this.#draw(rule.latency),
      staleMs: Math.max(decision.staleMs, rule.stale ?? 0),
      kubelet: rule.kubelet ? [...decision.kubelet, rule.kubelet] : decision.kubelet,
      ...failureOf(rule),
    };
  }

  #draw(latency: FaultRule['latency']): number {
    if (latency === undefined) return 0;
    if (typeof latency === 'number') return latency;
    return latency.min + this.#random.next() * (latency.max - latency.min);
  }
}

const isFailing = (decision: FaultDecision): boolean =>
  decision.error !== undefined || decision.timeoutMs !== undefined;

function failureOf(rule: OrderedFault): Pick<FaultDecision, 'error' | 'timeoutMs'> & { effect?: boolean } {
  const effect = rule.effect ?? false;
  if (rule.timeout) return { timeoutMs: rule.timeout.after ?? DEFAULT_TIMEOUT_MS, effect };
  if (!rule.error) return {};
  const { code, status, message, retryAfterSeconds } = rule.error;
  const known = (CLOUD_ERRORS as Readonly<Record<string, number>>)[code];
  return {
    effect,
    error: {
      code,
      status: status ?? known ?? 500,
      message: message ?? `The fault ${rule.id} simulates ${code} for this operation.`,
      retryAfterSeconds,
    },
  };
}

function matches(rule: OrderedFault, operation: string, subject: FaultSubject): boolean {
  const [noun] = operation.split('.');
  if (rule.operation !== '*' && rule.operation !== operation && rule.operation !== `${noun}.*`) return false;
  // The boot of a machine is not a request, so only a rule for `instances.boot` affects it.
  if (operation === 'instances.boot' && rule.operation !== operation) return false;
  if (rule.zone !== undefined && rule.zone !== subject.zone) return false;
  if (rule.machineType !== undefined && rule.machineType !== subject.machineType) return false;
  return rule.instance === undefined || (subject.name !== undefined && matchesGlob(rule.instance, subject.name));
}

function matchesGlob(glob: string, text: string): boolean {
  const pattern = glob.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${pattern.join('.*')}$`).test(text);
}
