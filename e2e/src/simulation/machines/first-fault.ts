import type { FaultRule } from '@mcm/provider-local';
import type { FailingOperation } from '../network/random-faults.ts';
import type { RequestFault } from '../network/request-faults.ts';

/** The fault with which a history starts. Other faults may follow later. */
export type FirstFault =
  /** A fault of the cloud. The history causes a request that fails because of the fault. */
  | { readonly cloud: FaultRule & { readonly operation: FailingOperation } }
  /** A fault of the connection to the API server. With `toCloud`, the connection to the cloud fails. */
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
