import type { crds } from '@mcm/api';
import type { KillPoint, Reporter } from '@mcm/conformance/fleet';
import type { AccountRates, buildMachineController, DriverTracer, Journal } from '@mcm/core';
import type { Clock, KubeClient, Transport } from '@mcm/kube';
import type { NodeGroupContext } from '@mcm/machine-controller-manager';
import type { KubeletBehaviour } from '@mcm/provider-local';
import type { ProfileName } from '../network/profiles.ts';

export const NAMESPACE = 'default';
/** The simulation handles all requests itself, so no process connects to this address. */
export const ENDPOINT = 'http://cloud.invalid';

export const MOST_WARM = 3;

export type ProcessName = 'manager' | 'machine-controller';

export interface WorldOptions {
  readonly isSeparate?: boolean;
  readonly seed?: number;
  /** The latencies and faults of the network. */
  readonly profile?: ProfileName | undefined;
  readonly killPoints?: Partial<Record<ProcessName, KillPoint>>;
  readonly restartAfterMs?: number;
  readonly kubelets?: KubeletBehaviour;
  readonly maxSurge?: number;
  readonly maxUnavailable?: number;
  readonly hookWebhooks?: Parameters<typeof buildMachineController>[0]['hookWebhooks'];
  readonly interruptions?: boolean;
  readonly reports?: boolean | undefined;
  readonly capacityBuffers?: boolean;
  readonly maxUnhealthyReplacements?: number;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  readonly inPlace?: 'Auto' | 'Manual';
  readonly moreClasses?: readonly string[] | undefined;
  readonly machine?: object;
  readonly wrap?: ((name: ProcessName, transport: Transport) => Transport) | undefined;
  readonly classAnnotations?: Readonly<Record<string, string>> | undefined;
  readonly classFields?: object;
  readonly wrapCloud?: ((transport: Transport) => Transport) | undefined;
  /** Serves the port of the autoscaler in a process of the manager. */
  readonly serveGroups?: (context: NodeGroupContext, signal: AbortSignal) => void;
  /** Creates the rate limits of one process of the machine controller. */
  readonly rates?: (
    processClock: Clock,
    simulation: { readonly clock: Clock; readonly reporter: Reporter },
  ) => AccountRates;
  /** Whether two processes of each controller compete for a Lease. */
  readonly elections?: boolean;
  /** Whether the leader has no fence. */
  readonly unfenced?: boolean;
  readonly tracer?: DriverTracer;
  readonly journal?: Journal | undefined;
  readonly furnish?: (admin: KubeClient) => Promise<void>;
  readonly secretData?: Readonly<Record<string, string>>;
  /** For each process, how far its clock is ahead of the simulated time, in milliseconds. */
  readonly skewMs?: Partial<Record<ProcessName, readonly number[]>>;
  /** Whether the local cloud and the control plane store their data in files. */
  readonly disks?: boolean;
  /** Whether `World.restore` can restore a backup of the cluster. */
  readonly restorable?: boolean;
  readonly crds?: typeof crds;
  readonly port?: number;
}
