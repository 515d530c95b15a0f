import type { MachineClass } from '@mcm/api';
import type { Draft } from '@mcm/kube';
import type { DataDir } from '../data/data-dir.ts';

/** Values of `mcm up --provider`. */
export const PROVIDERS = ['local', 'aws', 'azure', 'gcp'] as const;
/** One of `PROVIDERS`. */
export type ProviderName = (typeof PROVIDERS)[number];

/** The address of a running cloud, for the other programs. */
export interface CloudSide {
  /** Origin of its API. */
  readonly address: string;
}

/** The data of Secrets, by their names. */
export type SecretsByName = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Everything that differs between the clouds of `mcm up`. */
export interface Provider {
  /** One of {@link PROVIDERS}, or the module of a driver. */
  readonly name: string;
  /** The program of the cloud. */
  readonly cloud: ProgramOf;
  /** The program of the machine controller; called when the cloud runs. */
  readonly machineController: (cloud: CloudSide) => ProgramOf;
  /** Data of the Secret of the first class, without `userData`. */
  readonly credentials: (cloud: CloudSide) => Readonly<Record<string, string>>;
  /** Data of more Secrets by their names, without `userData`: other ways to log in to the same cloud; absent: none. */
  readonly otherLogins?: (cloud: CloudSide) => SecretsByName;
  /** Whether the credentials have their own user data. */
  readonly keepsUserData?: boolean;
  /** Whether the nodes of its VMs are simulated, because its cloud boots none. */
  readonly simulatesNodes?: boolean;
  /** Whether a node has the name of its machine; otherwise it has the host name of the VM. */
  readonly nodeIsMachine: boolean;
  /** The first class: its name and its provider-specific fields. */
  readonly machineClass: { readonly name: string; readonly secret: string } & Pick<
    Draft<MachineClass>,
    'provider' | 'nodeTemplate' | 'providerSpec'
  >;
}

/** A program: its module, flags and environment. */
export interface ProgramOf {
  readonly name: string;
  readonly module: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Creates a provider for a data directory, which stores generated secrets. */
export type ProviderFor = (data: DataDir) => Provider;
