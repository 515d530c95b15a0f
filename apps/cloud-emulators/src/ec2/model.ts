/** A network interface of an instance. Responses omit fields that are undefined or null. */
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

/** A network interface that still exists after its instance. */
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
  /** The ID of the reservation. Responses group instances by reservation. */
  reservation?: string;
  launchTime?: string;
  clientToken?: string | undefined;
  /** The time from which responses contain the instance. */
  visibleFrom?: number;
  /** The time at which the state changes from shutting-down to terminated. */
  terminatedFrom?: number;
  /** The time at which the state changes from stopping to stopped. */
  stoppedFrom?: number;
  /** Whether the instance was launched with hibernation. */
  hibernation?: boolean;
  /** The region of the instance. `region` is absent for instances that existed at the start. */
  region?: string;
  zone?: string;
  machineType?: string;
  image?: string;
  privateIp?: string;
  /** The decoded user data, which no response contains. When the instance is terminated, the user data is removed. */
  userData?: string;
  /** The parameters of the launch, to compare later launches with the same client token. */
  fingerprint?: string;
  /** The duration of the boot. The default is the option `bootMs` of the endpoint. */
  bootMs?: number | undefined;
  /**
   * The error of the boot. An instance with a boot error is terminated after its boot. If `leave` is true, the volumes
   * of the failed instance stay.
   */
  bootFails?: { readonly code: string; readonly message: string; readonly leave: boolean } | undefined;
  /** The reason of the termination by EC2 or by a request. */
  stateReason?: { readonly code: string; readonly message: string };
  /** An earlier state, which reads return until the given time. */
  stale?: { readonly until: number; readonly was: CloudInstance };
}

export interface CloudVolume {
  readonly volumeId: string;
  readonly deviceName: string;
  readonly deleteOnTermination: boolean;
  readonly name: string;
  /** The instance to which the volume is attached. If the instance no longer exists, `instanceId` is absent. */
  instanceId?: string;
}

/** An image (AMI) of EC2's API, with the fields that a driver reads. */
export interface CloudImage {
  readonly imageId: string;
  readonly rootDeviceName?: string | null;
}

/**
 * A rule of a script. The first rule that matches a request applies. The recordings of the original use the same fields
 * as a rule.
 */
export interface ScriptRule {
  readonly action: string;
  /** Limits the rule to DescribeInstances by IDs or by filters. */
  readonly by?: 'id' | 'tags';
  /** The number of matching requests before the rule takes effect. */
  readonly after?: number;
  /** The number of requests that the rule affects before the rule ends. By default, a rule never ends. */
  readonly times?: number;
  readonly error?: {
    readonly http: number;
    readonly code: string;
    readonly message: string;
    readonly retryAfter?: number | undefined;
  };
  readonly raw?: { readonly http: number; readonly contentType: string; readonly body: string };
  /** If `close` is true, the server closes the connection without a response. */
  readonly close?: boolean;
  /** If `lose` is true, the request takes effect, but its response is lost. */
  readonly lose?: boolean;
  readonly notVisible?: boolean;
  readonly empty?: boolean;
  /** If `cancelCaller` is true, the client cancels the request before the response arrives. */
  readonly cancelCaller?: boolean;
}

/** The response to a launch. By default, a launch returns one instance with a generated name. */
export interface LaunchAnswer {
  readonly instanceIds?: readonly (string | null)[];
  readonly privateDnsName?: string | null;
  readonly describedPrivateDnsName?: string | null;
}
