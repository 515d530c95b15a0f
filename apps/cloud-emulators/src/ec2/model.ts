/** A network interface of an instance. Answers omit its undefined and null fields. */
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
  /** Whether the interface is deleted with its instance. If absent, true. */
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
  /** The reservation of the instance. Answers list instances of one reservation together. */
  reservation?: string;
  launchTime?: string;
  /** The client token of the launch. */
  clientToken?: string | undefined;
  /** The instance is not shown before this time. */
  visibleFrom?: number;
  /** The instance is shutting down until this time. After this time, the instance is terminated. */
  terminatedFrom?: number;
  /** The instance is stopping until this time. After this time, the instance is stopped. */
  stoppedFrom?: number;
  /** The region of the instance. Absent for instances that existed at the start. */
  region?: string;
  zone?: string;
  machineType?: string;
  image?: string;
  privateIp?: string;
  /** The decoded user data. The user data is never returned, and is emptied when the instance is terminated. */
  userData?: string;
  /** The launch parameters of the client token. */
  fingerprint?: string;
  /** The duration of the boot. If absent, the default of the endpoint. */
  bootMs?: number | undefined;
  /** The error of the boot, after which the instance is terminated. `leave`: its volumes are kept. */
  bootFails?: { readonly code: string; readonly message: string; readonly leave: boolean } | undefined;
  /** Reason of the termination by EC2 or by a request. */
  stateReason?: { readonly code: string; readonly message: string };
  /** An earlier state, which reads return until the given time. */
  stale?: { readonly until: number; readonly was: CloudInstance };
}

export interface CloudVolume {
  readonly volumeId: string;
  readonly deviceName: string;
  readonly deleteOnTermination: boolean;
  readonly name: string;
  /** The instance of the volume. If absent, the instance no longer exists. */
  instanceId?: string;
}

/** An image (AMI) of EC2's API, with the fields that a driver reads. */
export interface CloudImage {
  readonly imageId: string;
  readonly rootDeviceName?: string | null;
}

/** A rule of a script. The first rule that matches a request applies. The fields are those of the recordings. */
export interface ScriptRule {
  readonly action: string;
  /** Whether only DescribeInstances by IDs or by filters matches. */
  readonly by?: 'id' | 'tags';
  /** The number of matching requests before the rule takes effect. */
  readonly after?: number;
  /** The number of effects after which the rule ends. If absent, unlimited. */
  readonly times?: number;
  readonly error?: {
    readonly http: number;
    readonly code: string;
    readonly message: string;
    readonly retryAfter?: number | undefined;
  };
  readonly raw?: { readonly http: number; readonly contentType: string; readonly body: string };
  /** The connection is closed without an answer. */
  readonly close?: boolean;
  /** The request is carried out, but its answer is lost. */
  readonly lose?: boolean;
  readonly notVisible?: boolean;
  readonly empty?: boolean;
  /** The client cancels the request before the answer arrives. */
  readonly cancelCaller?: boolean;
}

/** The answer to a launch. If absent, it is one instance with a generated name. */
export interface LaunchAnswer {
  readonly instanceIds?: readonly (string | null)[];
  readonly privateDnsName?: string | null;
  readonly describedPrivateDnsName?: string | null;
}
