import { z } from 'zod';

/**
 * A fault rule. For each request, the first matching rule applies. A rule that only delays the request (`delayMs`,
 * `perSecond`) does not prevent later rules.
 */
export const faultRule = z.strictObject({
  /** A regular expression for the names of requests: `^RunInstances$`, `^PUT virtualMachines$`, `^POST instances$`. */
  on: z.string().min(1),
  /** A regular expression for the path and the body of the request, joined by a space. */
  body: z.string().optional(),
  /** The rule ignores this number of matching requests before it takes effect. */
  after: z.number().int().min(0).optional(),
  /** The rule ends after it has affected this number of requests. By default, a rule never ends. */
  times: z.number().int().min(1).optional(),
  /** The cloud refuses the request with this error. A refused request has no effect. */
  refuse: z
    .strictObject({
      status: z.number().int().min(300).max(599),
      code: z.string(),
      message: z.string().default('a fault rule of the emulator returned this error'),
      /** The header `Retry-After` of the error response, in seconds. */
      retryAfter: z.number().min(0).optional(),
    })
    .optional(),
  /**
   * The cloud accepts at most this number of requests per second. Above the limit, the response is the throttling error
   * of the cloud. All accepted requests of a second may arrive at the same time.
   */
  perSecond: z.number().positive().optional(),
  /** The header `Retry-After` of the throttling error, in seconds. */
  retryAfter: z.number().min(0).optional(),
  /** The connection ends before or after the request takes effect. With `after`, only the response is lost. */
  lose: z.enum(['before', 'after']).optional(),
  /** The operation that the request starts fails with this error. On EC2, the boot of the instance fails. */
  failOperation: z
    .strictObject({
      code: z.string(),
      message: z.string().default('a fault rule of the emulator returned this error'),
      /** Whether an incomplete resource stays after the failed operation. */
      leave: z.boolean().default(false),
    })
    .optional(),
  /**
   * The duration of the operation that the request starts, in milliseconds. On EC2, the value is the duration of the
   * boot or the shutdown.
   */
  operationMs: z.number().min(0).optional(),
  /** Listings show the changes of the request after this number of milliseconds. */
  visibleAfterMs: z.number().min(0).optional(),
  /** The response is sent after this number of milliseconds. */
  delayMs: z.number().min(0).optional(),
});

/** A fault rule whose defaults are set. */
export type FaultRule = z.infer<typeof faultRule>;
/** The input for a {@link FaultRule}. Fields with a default may be omitted. */
export type FaultRuleInput = z.input<typeof faultRule>;
