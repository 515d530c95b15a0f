import type { MachineClass } from '@mcm/api';
import type { Draft } from '@mcm/kube';
import type { DataDir } from '../../instance/data-dir.ts';

export const PROVIDERS = ['local', 'aws', 'azure', 'gcp'] as const;
export type ProviderName = (typeof PROVIDERS)[number];

/** The address of a running cloud, which all other programs use. */
export interface CloudSide {
  /** The origin of the cloud's API. */
  readonly address: string;
}

export type SecretsByName = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The data and functions of `mcm up` that differ between clouds. */
export interface Provider {
  /** One of {@link PROVIDERS}, or the path of a driver module. */
  readonly name: string;
  readonly cloud: ProgramOf;
  /**
   * Returns the program of the machine controller. The caller must call `machineController` after the start of the
   * cloud.
   */
  readonly machineController: (cloud: CloudSide) => ProgramOf;
  /** Returns the data of the Secret of the first class, without `userData`. */
  readonly credentials: (cloud: CloudSide) => Readonly<Record<string, string>>;
  /** Returns the data of Secrets with further credentials for the same cloud, without `userData`. */
  readonly otherLogins?: (cloud: CloudSide) => SecretsByName;
  /** Whether the credentials already contain user data. */
  readonly keepsUserData?: boolean;
  /** Whether `mcm up` simulates the nodes, because the VMs of the cloud boot no system. */
  readonly simulatesNodes?: boolean;
  /** Whether a Node has the name of its machine. If `nodeIsMachine` is false, the Node has the host name of the VM. */
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

/** Creates a provider for a data directory, which stores generated secrets. */
export type ProviderFor = (data: DataDir) => Provider;
