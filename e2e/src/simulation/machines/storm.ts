import type { FaultRule } from '@mcm/provider-local';
import type { FailingOperation } from '../network/misfortunes.ts';
import type { Mishap } from '../network/network.ts';

/** The fault with which a history begins. Further faults may follow. */
export type Storm =
  /** Of the cloud: the call that it befalls is provoked. */
  | { readonly cloud: FaultRule & { readonly operation: FailingOperation } }
  /** Of the wire; `toCloud`: of the wire to the cloud. */
  | { readonly wire: Mishap; readonly toCloud?: true }
  /** Of anything else. */
  | { readonly act: StormAct };

/** What may befall all at once. */
export type StormAct =
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
