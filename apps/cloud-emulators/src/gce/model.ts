import { z } from 'zod';

export const insertedBody = z.looseObject({
  name: z.string().regex(/^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/),
  machineType: z.string().optional(),
  tags: z.looseObject({ items: z.array(z.string()).optional() }).optional(),
  labels: z.record(z.string(), z.string()).optional(),
  deletionProtection: z.boolean().optional(),
  disks: z
    .array(
      z.looseObject({
        boot: z.boolean().optional(),
        autoDelete: z.boolean().optional(),
        initializeParams: z
          .looseObject({ sourceImage: z.string().optional(), diskName: z.string().optional() })
          .optional(),
      }),
    )
    .optional(),
  networkInterfaces: z.array(z.looseObject({})).optional(),
  metadata: z
    .looseObject({ items: z.array(z.looseObject({ key: z.string(), value: z.string().optional() })).optional() })
    .optional(),
});
export type InsertedBody = z.infer<typeof insertedBody>;

/** As in Compute Engine, labels contain only lowercase letters, digits, `-` and `_`. */
export const labelsBody = z.looseObject({
  labels: z.record(z.string().regex(/^[a-z][a-z0-9_-]{0,62}$/), z.string().regex(/^[a-z0-9_-]{0,63}$/)),
  labelFingerprint: z.string(),
});

export interface GceInstance {
  readonly id: string;
  readonly name: string;
  readonly project: string;
  readonly zone: string;
  readonly body: InsertedBody;
  readonly creationTimestamp: string;
  readonly privateIp: string;
  /** If `listedFrom` is undefined, the default delay of the endpoint applies. */
  readonly listedFrom?: number;
  status: string;
}

export interface GceDisk {
  readonly name: string;
  readonly project: string;
  readonly zone: string;
  readonly autoDelete: boolean;
  readonly instance?: string;
}

/** A change that takes time. If the emulator restarts, the new process completes the operation. */
export interface GceOperation {
  readonly name: string;
  readonly number: number;
  readonly project: string;
  readonly zone: string;
  readonly targetId: string;
  readonly beganAt: number;
  readonly operationType: 'insert' | 'delete' | 'stop' | 'start' | 'suspend' | 'setLabels';
  readonly instance: string;
  readonly requestId?: string | undefined;
  readonly doneAt: number;
  readonly errors?: readonly { readonly code: string; readonly message: string }[] | undefined;
  readonly visibleAfterMs?: number | undefined;
  readonly leave?: boolean | undefined;
  done: boolean;
}
