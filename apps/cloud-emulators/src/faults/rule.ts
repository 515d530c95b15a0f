import { z } from 'zod';

/** A fault rule. A rule that only delays the request (`delayMs`, `perSecond`) does not prevent later rules. */
export const faultRule = z.strictObject({
  on: z.string().min(1),
  body: z.string().optional(),
  after: z.number().int().min(0).optional(),
  times: z.number().int().min(1).optional(),
  refuse: z
    .strictObject({
      status: z.number().int().min(300).max(599),
      code: z.string(),
      message: z.string().default('a fault rule of the emulator returned this error'),
      retryAfter: z.number().min(0).optional(),
    })
    .optional(),
  /** The maximum rate of requests. Above this rate, the emulator responds with the throttling error of the cloud. */
  perSecond: z.number().positive().optional(),
  retryAfter: z.number().min(0).optional(),
  /**
   * When the emulator closes the connection: before or after the request takes effect. With `after`, only the response
   * is lost.
   */
  lose: z.enum(['before', 'after']).optional(),
  /** The error with which an operation fails. On EC2, the boot of the instance fails. */
  failOperation: z
    .strictObject({
      code: z.string(),
      message: z.string().default('a fault rule of the emulator returned this error'),
      /** Whether an incomplete resource stays after the failed operation. */
      leave: z.boolean().default(false),
    })
    .optional(),
  operationMs: z.number().min(0).optional(),
  visibleAfterMs: z.number().min(0).optional(),
  delayMs: z.number().min(0).optional(),
});

/** A fault rule whose defaults are set. */
export type FaultRule = z.infer<typeof faultRule>;
/** The input for a {@link FaultRule}. */
export type FaultRuleInput = z.input<typeof faultRule>;
