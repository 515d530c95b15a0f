import type { FaultRule } from '@mcm/provider-local';
import type { FailingOperation } from '../network/random-faults.ts';
import type { RequestFault } from '../network/request-faults.ts';

export type FirstFault =
  | { readonly cloud: FaultRule & { readonly operation: FailingOperation } }
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
