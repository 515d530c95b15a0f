/** A network interface of an instance. Responses omit the fields that are undefined or null. */
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
  /** Whether the interface is deleted with its instance. By default, `deleteOnTermination` is true. */
  deleteOnTermination?: boolean | undefined;
}

/** A network interface that was not deleted together with its instance. */
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
  /** The ID of the reservation to which the instance belongs. Responses group the instances by reservation. */
  reservation?: string;
  launchTime?: string;
  clientToken?: string | undefined;
  /** Responses contain the instance from this time on. */
  visibleFrom?: number;
  /** At this time, the state of the instance changes from shutting-down to terminated. */
  terminatedFrom?: number;
  /** At this time, the state of the instance changes from stopping to stopped. */
  stoppedFrom?: number;
  /** Whether the instance was launched with hibernation. */
  hibernation?: boolean;
  /** The region of the instance. For instances that existed at the start, `region` is undefined. */
  region?: string;
  zone?: string;
  machineType?: string;
  image?: string;
  privateIp?: string;
  /**
   * The decoded user data of the instance. Responses do not contain the user data, and the termination of the instance
   * removes it.
   */
  userData?: string;
  /** The parameters of the launch, which a later launch with the same client token must have too. */
  fingerprint?: string;
  /** The duration of the boot of this instance. The default is the option `bootMs` of the endpoint. */
  bootMs?: number | undefined;
  /**
   * The error with which the boot of the instance fails. After the failed boot, the instance is terminated. If `leave`
   * is true, the volumes of the failed instance stay.
   */
  bootFails?: { readonly code: string; readonly message: string; readonly leave: boolean } | undefined;
  /** The reason why EC2 or a request terminated the instance. */
  stateReason?: { readonly code: string; readonly message: string };
  /** A copy of the instance before its last change. Read requests see the copy until the given time. */
  stale?: { readonly until: number; readonly was: CloudInstance };
}

export interface CloudVolume {
  readonly volumeId: string;
  readonly deviceName: string;
  readonly deleteOnTermination: boolean;
  readonly name: string;
  /** The instance to which the volume is attached. If the instance no longer exists, `instanceId` is undefined. */
  instanceId?: string;
}

/** An image (AMI) of EC2's API, with the fields that a driver reads. */
export interface CloudImage {
  readonly imageId: string;
  readonly rootDeviceName?: string | null;
}

/**
 * A rule of a script for tests. For each request, the first matching rule applies. The recordings of the original
 * contain rules with the same fields.
 */
export interface ScriptRule {
  readonly action: string;
  /** Limits the rule to DescribeInstances requests with IDs, or to requests with filters. */
  readonly by?: 'id' | 'tags';
  /** The rule ignores this number of matching requests before it takes effect. */
  readonly after?: number;
  /** The rule ends after it has affected this number of requests. By default, a rule never ends. */
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

/** The response to a launch request. By default, a launch returns one instance with a generated name. */
export interface LaunchAnswer {
  readonly instanceIds?: readonly (string | null)[];
  readonly privateDnsName?: string | null;
  readonly describedPrivateDnsName?: string | null;
}
