import type { MachineClass } from '@mcm/api';
import type { Draft } from '@mcm/kube';
import type { DataDir } from '../../instance/data-dir.ts';

export const PROVIDERS = ['local', 'aws', 'azure', 'gcp'] as const;
export type ProviderName = (typeof PROVIDERS)[number];

/** The address of the running cloud, which the other programs need. */
export interface CloudSide {
  /** The origin in the URLs of the cloud API. */
  readonly address: string;
}

export type SecretsByName = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The part of `mcm up` that is different for each cloud. */
export interface Provider {
  /** The name of the provider: one of {@link PROVIDERS}, or the path of a driver module. */
  readonly name: string;
  readonly cloud: ProgramOf;
  /** Returns the command of the machine controller. Call this function after the start of the cloud. */
  readonly machineController: (cloud: CloudSide) => ProgramOf;
  /** Returns the data for the Secret of the first class, without `userData`. */
  readonly credentials: (cloud: CloudSide) => Readonly<Record<string, string>>;
  /** Returns the data for Secrets with other credentials of this cloud, without `userData`. */
  readonly otherLogins?: (cloud: CloudSide) => SecretsByName;
  /** Whether the credentials contain user data already. */
  readonly keepsUserData?: boolean;
  /** Whether `mcm up` simulates the nodes, because the VMs of this cloud boot no operating system. */
  readonly simulatesNodes?: boolean;
  /** Whether a Node has the name of its machine. If not, the Node has the host name of the VM. */
  readonly nodeIsMachine: boolean;
  readonly machineClass: { readonly name: string; readonly secret: string } & Pick<
    Draft<MachineClass>,
    'provider' | 'nodeTemplate' | 'providerSpec'
  >;
}

/** The command of a program: its module, its flags and its environment. */
export interface ProgramOf {
  readonly name: string;
  readonly module: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Creates a provider. Generated secrets are stored in the data directory. */
export type ProviderFor = (data: DataDir) => Provider;
