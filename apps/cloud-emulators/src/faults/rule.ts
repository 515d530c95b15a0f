import { z } from 'zod';

/**
 * A fault rule. The first matching fault rule applies. After a rule that only delays the request (`delayMs`,
 * `perSecond`), later rules also apply.
 */
export const faultRule = z.strictObject({
  /** Regular expression for the name of a request: `^RunInstances$`, `^PUT virtualMachines$`, `^POST instances$`. */
  on: z.string().min(1),
  /** Regular expression for the request's path and body, joined by a space. */
  body: z.string().optional(),
  /** The number of matching requests before the rule takes effect. */
  after: z.number().int().min(0).optional(),
  /** The number of requests that the rule affects before the rule ends. By default, a rule never ends. */
  times: z.number().int().min(1).optional(),
  /** The error response with which the cloud refuses the request. A refused request has no effect. */
  refuse: z
    .strictObject({
      status: z.number().int().min(300).max(599),
      code: z.string(),
      message: z.string().default('a fault rule of the emulator returned this error'),
      /** The value of the header `Retry-After`, in seconds. */
      retryAfter: z.number().min(0).optional(),
    })
    .optional(),
  /**
   * The maximum number of requests per second. Requests above the maximum get an error response for throttling. All
   * permitted requests of one second may arrive at the same time.
   */
  perSecond: z.number().positive().optional(),
  /** The value of the header `Retry-After` for a throttled request, in seconds. */
  retryAfter: z.number().min(0).optional(),
  /** Ends the connection before or after the request takes effect. With `after`, only the response is lost. */
  lose: z.enum(['before', 'after']).optional(),
  /** The error at the end of the operation that the request starts. On EC2, the boot of the instance fails. */
  failOperation: z
    .strictObject({
      code: z.string(),
      message: z.string().default('a fault rule of the emulator returned this error'),
      /** Whether an incomplete resource remains after the error. */
      leave: z.boolean().default(false),
    })
    .optional(),
  /**
   * The duration of the operation in milliseconds. On EC2, `operationMs` is the duration of the boot or the shutdown.
   */
  operationMs: z.number().min(0).optional(),
  /** The delay in milliseconds until listings show the changes of the request. */
  visibleAfterMs: z.number().min(0).optional(),
  /** The delay of the response in milliseconds. */
  delayMs: z.number().min(0).optional(),
});

/** A fault rule with its defaults. */
export type FaultRule = z.infer<typeof faultRule>;
/** The input for a {@link FaultRule}: fields with a default are optional. */
export type FaultRuleInput = z.input<typeof faultRule>;
