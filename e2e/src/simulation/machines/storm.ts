import type { FaultRule } from '@mcm/provider-local';
import type { FailingOperation } from '../network/misfortunes.ts';
import type { Mishap } from '../network/mishaps.ts';

/** The fault at the start of a history. Other faults may follow. */
export type Storm =
  /** A fault of the cloud. The history triggers the call that fails. */
  | { readonly cloud: FaultRule & { readonly operation: FailingOperation } }
  /** A fault of the connection to the API server, or with `toCloud` to the cloud. */
  | { readonly wire: Mishap; readonly toCloud?: true }
  /** Another fault. */
  | { readonly act: StormAct };

/** Faults at the start of a history. */
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
