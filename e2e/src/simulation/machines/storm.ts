import type { FaultRule } from '@mcm/provider-local';
import type { FailingOperation } from '../network/misfortunes.ts';
import type { Mishap } from '../network/network.ts';

/** One fault that a history begins with, whatever else befalls it. */
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
