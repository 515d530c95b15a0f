import type { Transport } from '@mcm/kube';
import type { Faults } from '../faults/faults.ts';

/** A cloud resource that causes cost. */
export interface ListedResource {
  /** The type of the resource: `instance`, `volume`, `networkInterface` or `disk`. */
  readonly kind: string;
  readonly id: string;
  readonly name: string;
  readonly state: string;
}

export interface InterruptionOrder {
  readonly kind: 'Terminate' | 'Maintenance' | 'Ended' | 'Freeze' | 'Rebalance';
  readonly noticeMs: number;
}

/** Returns the text about an interruption that an agent on the VM writes to the Node. */
export function nodeNotice(
  prefix: 'azure' | 'gce',
  { kind, noticeMs }: InterruptionOrder,
  now: number,
): string | undefined {
  if (kind === 'Freeze' || kind === 'Rebalance') return undefined;
  return JSON.stringify({
    kind: kind === 'Maintenance' ? kind : 'Terminate',
    id: `${prefix}-${now}`,
    noticedAt: new Date(now).toISOString(),
    deadline: new Date(now + noticeMs).toISOString(),
    detail: 'announced on request',
  });
}

/** The emulator of a cloud on the loopback address. */
export interface Emulator {
  /** Handles the requests to the API of the cloud. */
  readonly transport: Transport;
  readonly faults: Faults;
  /** Returns all existing resources, sorted by their creation. */
  resources(): readonly ListedResource[];
  readonly counts: ReadonlyMap<string, number>;
  /**
   * Announces that the cloud will interrupt the VM of a machine. If `interrupt` is undefined, the emulator supports
   * no interruptions.
   */
  interrupt?(name: string, order: InterruptionOrder): boolean;
  /** Powers on the VMs that were running when the previous process ended. */
  resume(): void;
}
