import type { Random } from '@mcm/kube';
import { z } from 'zod';
import { durationMs, kubeletBehaviour } from '../../machine/behaviour.ts';
import { CLOUD_ERRORS } from './errors.ts';

const latency = z.union([
  durationMs,
  z.strictObject({ min: durationMs, max: durationMs }).refine(({ min, max }) => min <= max, 'min must not exceed max'),
]);

/** A fault to order. Rules are matched in the order in which they were made. */
export const faultRule = z
  .strictObject({
    /** `instances.create`, all of one noun (`instances.*`), all (`*`), or `instances.boot` for kubelets. */
    operation: z.string().regex(/^(\*|[a-z]+\.(\*|[a-z]+))$/, 'must look like instances.create, instances.* or *'),
    /** Only for this zone, machine type, or instances whose name matches (`*` matches any text). */
    zone: z.string().optional(),
    machineType: z.string().optional(),
    instance: z.string().optional(),
    /** Answer with this error. Its status follows from the code where the cloud knows it. */
    error: z
      .strictObject({
        code: z.string().min(1),
        status: z.int().min(400).max(599).optional(),
        message: z.string().optional(),
        retryAfterSeconds: z.int().nonnegative().optional(),
      })
      .optional(),
    /** Never answer: the connection stays open, at most `after` (default 5 minutes), then 504. */
    timeout: z.strictObject({ after: durationMs.optional() }).optional(),
    /** The operation is carried out although its caller gets the error or no answer. */
    effect: z.boolean().optional(),
    /** Wait before working on the request. */
    latency: latency.optional(),
    /** Answers of `get` and `list` show the instances as they were this long ago. */
    stale: durationMs.optional(),
    /** For `instances.boot`: how the kubelet of a matching instance behaves. */
    kubelet: kubeletBehaviour.optional(),
    /** Chance that the rule acts on a matching request; default 1. */
    probability: z.number().min(0).max(1).optional(),
    /** The number of effects of the rule before it ends; default: unlimited. */
    count: z.int().positive().optional(),
  })
  .refine((rule) => rule.error || rule.timeout || rule.latency || rule.stale || rule.kubelet, {
    message: 'must contain at least one of error, timeout, latency, stale, kubelet',
  });

/** A fault rule: the calls that it matches, and its effect on them. */
export type FaultRule = z.infer<typeof faultRule>;

/** An active fault rule, and the number of its effects. */
export interface OrderedFault extends FaultRule {
  readonly id: string;
  /** How many times it has acted. */
  acted: number;
}

/** The subject of a request, for matching. */
export interface FaultSubject {
  readonly zone?: string | undefined;
  readonly machineType?: string | undefined;
  readonly name?: string | undefined;
}

/** The combined effect of the matching rules on one request. */
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

/** The faults ordered so far. They are for one process: a restart of the cloud forgets them. */
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

  /** False if the rule does not exist. */
  cancel(id: string): boolean {
    return this.#rules.delete(id);
  }

  clear(): void {
    this.#rules.clear();
  }

  /** Rolls the dice for one request; the first error or timeout wins, latencies add up, the longest lag counts. */
  decide(operation: string, subject: FaultSubject = {}): FaultDecision {
    let decision: FaultDecision = { latencyMs: 0, staleMs: 0, effect: false, kubelet: [] };
    for (const rule of this.#rules.values()) {
      if (!matches(rule, operation, subject)) continue;
      // A request fails once: the next failure in line is kept for the next request.
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
      message: message ?? `${code} was requested for this operation (${rule.id}).`,
      retryAfterSeconds,
    },
  };
}

function matches(rule: OrderedFault, operation: string, subject: FaultSubject): boolean {
  const [noun] = operation.split('.');
  if (rule.operation !== '*' && rule.operation !== operation && rule.operation !== `${noun}.*`) return false;
  // The boot of a machine is not a request, so the rule must name it.
  if (operation === 'instances.boot' && rule.operation !== operation) return false;
  if (rule.zone !== undefined && rule.zone !== subject.zone) return false;
  if (rule.machineType !== undefined && rule.machineType !== subject.machineType) return false;
  return rule.instance === undefined || (subject.name !== undefined && matchesGlob(rule.instance, subject.name));
}

function matchesGlob(glob: string, text: string): boolean {
  const pattern = glob.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${pattern.join('.*')}$`).test(text);
}
