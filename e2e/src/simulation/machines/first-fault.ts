import type { FaultRule } from '@mcm/provider-local';
import type { FailingOperation } from '../network/random-faults.ts';
import type { RequestFault } from '../network/request-faults.ts';

/** The fault at the start of a history. Further faults may follow the first fault. */
export type FirstFault =
  /** A fault of the cloud. The history triggers the call that fails. */
  | { readonly cloud: FaultRule & { readonly operation: FailingOperation } }
  /** A fault of the connection to the API server, or with `toCloud` to the cloud. */
  | { readonly wire: RequestFault; readonly toCloud?: true }
  | { readonly act: FirstFaultAct };

export type FirstFaultAct =
  | 'silent kubelet'
  | 'lost VM'
  | 'late kubelet'
  | 'no kubelet'
  | 'expired watches'
  | 'silent watches'
  | 'no API server'
  | 'killed'
  | 'two controllers'
  | 'clock forward'
  | 'clock back'
  | 'lost machine';
