import { z } from 'zod';

/**
 * A fault rule. The first matching rule is applied. Rules with only `delayMs` or `perSecond` continue with the next rule, unless
 * they refuse the request.
 */
export const faultRule = z.strictObject({
  /** Regular expression for the name of a request: `^RunInstances$`, `^PUT virtualMachines$`, `^POST instances$`. */
  on: z.string().min(1),
  /** Regular expression that the request's path and body, joined by a space, must match. */
  body: z.string().optional(),
  /** So many requests pass untouched first. */
  after: z.number().int().min(0).optional(),
  /** Used up after so many; absent: never. */
  times: z.number().int().min(1).optional(),
  /** The request is refused in the cloud's own form and nothing is done. */
  refuse: z
    .strictObject({
      status: z.number().int().min(300).max(599),
      code: z.string(),
      message: z.string().default('requested by a fault rule'),
      /** Seconds. */
      retryAfter: z.number().min(0).optional(),
    })
    .optional(),
  /** Requests beyond so many a second are refused as throttled; a second's worth may come at once. */
  perSecond: z.number().positive().optional(),
  /** Seconds in `Retry-After` of a throttled request. */
  retryAfter: z.number().min(0).optional(),
  /** The connection ends; `before` it is carried out, or `after` that, so that only the answer is lost. */
  lose: z.enum(['before', 'after']).optional(),
  /** The error at the end of the operation of the request. On EC2, the boot of the instance fails. */
  failOperation: z
    .strictObject({
      code: z.string(),
      message: z.string().default('requested by a fault rule'),
      /** The requested resource still exists, incomplete. */
      leave: z.boolean().default(false),
    })
    .optional(),
  /** The duration of the operation of the request in milliseconds; on EC2, of the boot or the shutdown. */
  operationMs: z.number().min(0).optional(),
  /** Delay in milliseconds until listings show the changes of the request. */
  visibleAfterMs: z.number().min(0).optional(),
  /** The answer is kept back so long, in milliseconds. */
  delayMs: z.number().min(0).optional(),
});

/** A stored fault: the calls that it matches, and its effect on them. */
export type FaultRule = z.infer<typeof faultRule>;
/** A {@link FaultRule} as it is ordered: what has a default may be left out. */
export type FaultRuleInput = z.input<typeof faultRule>;
