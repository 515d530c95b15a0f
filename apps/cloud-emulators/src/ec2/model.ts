export interface CloudInterface {
  networkInterfaceId?: string | null;
  deviceIndex?: number | null;
  networkCardIndex?: number | null;
  interfaceType?: string | null;
  sourceDestCheck?: boolean | null;
  ipv6Prefixes?: string[] | null;
  noAttachment?: boolean;
  subnetId?: string | undefined;
  groups?: readonly string[];
  privateIp?: string | undefined;
  /** Whether the interface is deleted with its instance. */
  deleteOnTermination?: boolean | undefined;
}

export interface LooseInterface {
  readonly networkInterfaceId: string;
  readonly name: string;
}

/** An instance of EC2's API, with the fields that a driver reads. */
export interface CloudInstance {
  instanceId?: string | null;
  state?: string | null;
  privateDnsName?: string | null;
  tags?: Record<string, string>;
  sourceDestCheck?: boolean | null;
  networkInterfaces?: CloudInterface[];
  reservation?: string;
  launchTime?: string;
  clientToken?: string | undefined;
  visibleFrom?: number;
  terminatedFrom?: number;
  stoppedFrom?: number;
  /** Whether the instance was launched with hibernation. */
  hibernation?: boolean;
  region?: string;
  zone?: string;
  machineType?: string;
  image?: string;
  privateIp?: string;
  userData?: string;
  /** The launch parameters. A later launch with the same client token must have equal parameters. */
  fingerprint?: string;
  bootMs?: number | undefined;
  bootFails?: { readonly code: string; readonly message: string; readonly leave: boolean } | undefined;
  stateReason?: { readonly code: string; readonly message: string };
  /**
   * The instance before a change. EC2 is eventually consistent, so read requests return the old instance for some time.
   */
  stale?: { readonly until: number; readonly was: CloudInstance };
}

export interface CloudVolume {
  readonly volumeId: string;
  readonly deviceName: string;
  readonly deleteOnTermination: boolean;
  readonly name: string;
  instanceId?: string;
}

/** An image (AMI) of EC2's API, with the fields that a driver reads. */
export interface CloudImage {
  readonly imageId: string;
  readonly rootDeviceName?: string | null;
}

/** A fault that a test defines for some requests. */
export interface ScriptRule {
  readonly action: string;
  /**
   * With `id`, the rule applies only to DescribeInstances requests with instance IDs. With `tags`, the rule applies
   * only to requests with filters.
   */
  readonly by?: 'id' | 'tags';
  readonly after?: number;
  readonly times?: number;
  readonly error?: {
    readonly http: number;
    readonly code: string;
    readonly message: string;
    readonly retryAfter?: number | undefined;
  };
  readonly raw?: { readonly http: number; readonly contentType: string; readonly body: string };
  /** Whether the server closes the connection without a response. */
  readonly close?: boolean;
  /** Whether the request takes effect, but the response is lost. */
  readonly lose?: boolean;
  readonly notVisible?: boolean;
  readonly empty?: boolean;
  /** Whether the client cancels the request before the response arrives. */
  readonly cancelCaller?: boolean;
}

/** The response to a launch request. */
export interface LaunchAnswer {
  readonly instanceIds?: readonly (string | null)[];
  readonly privateDnsName?: string | null;
  readonly describedPrivateDnsName?: string | null;
}
