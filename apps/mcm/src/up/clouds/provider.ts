import type { MachineClass } from '@mcm/api';
import type { Draft } from '@mcm/kube';
import type { DataDir } from '../../instance/data-dir.ts';

export const PROVIDERS = ['local', 'aws', 'azure', 'gcp'] as const;
export type ProviderName = (typeof PROVIDERS)[number];

export interface CloudSide {
  readonly address: string;
}

export type SecretsByName = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The part of `mcm up` that is different for each cloud. */
export interface Provider {
  readonly name: string;
  readonly cloud: ProgramOf;
  /** Returns the command of the machine controller. */
  readonly machineController: (cloud: CloudSide) => ProgramOf;
  /** Returns the data for the Secret of the first class, without `userData`. */
  readonly credentials: (cloud: CloudSide) => Readonly<Record<string, string>>;
  readonly otherLogins?: (cloud: CloudSide) => SecretsByName;
  /** Whether the credentials contain user data already. */
  readonly keepsUserData?: boolean;
  /** Whether `mcm up` simulates the nodes, because the VMs of this cloud boot no operating system. */
  readonly simulatesNodes?: boolean;
  /** Whether a Node has the name of its machine. If the flag is false, the Node has the host name of the VM. */
  readonly nodeIsMachine: boolean;
  readonly machineClass: { readonly name: string; readonly secret: string } & Pick<
    Draft<MachineClass>,
    'provider' | 'nodeTemplate' | 'providerSpec'
  >;
}

export interface ProgramOf {
  readonly name: string;
  readonly module: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export type ProviderFor = (data: DataDir) => Provider;
