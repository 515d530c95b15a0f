/** A network interface of an instance; answers omit undefined and null fields. */
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
  /** Whether it is deleted with its instance; absent: true. */
  deleteOnTermination?: boolean | undefined;
}

/** A network interface that has outlived its instance. */
export interface LooseInterface {
  readonly networkInterfaceId: string;
  readonly name: string;
}

/** An instance as EC2's API describes it, as far as a driver reads it. */
export interface CloudInstance {
  instanceId?: string | null;
  state?: string | null;
  privateDnsName?: string | null;
  tags?: Record<string, string>;
  sourceDestCheck?: boolean | null;
  networkInterfaces?: CloudInterface[];
  /** Instances of the same reservation are adjacent. */
  reservation?: string;
  launchTime?: string;
  /** Instance token of the launch. */
  clientToken?: string | undefined;
  /** Not shown before this instant. */
  visibleFrom?: number;
  /** Shutting down until this instant, terminated from then on. */
  terminatedFrom?: number;
  /** Region and zone; absent for instances that were there from the start. */
  region?: string;
  zone?: string;
  machineType?: string;
  image?: string;
  privateIp?: string;
  /** Decoded. Never returned. Emptied when the instance is terminated. */
  userData?: string;
  /** The launch parameters that belong to its token. */
  fingerprint?: string;
  /** How long its boot takes; absent: as long as the endpoint's boots do. */
  bootMs?: number | undefined;
  /** The error of its boot, after which the instance is terminated. `leave`: its volumes stay. */
  bootFails?: { readonly code: string; readonly message: string; readonly leave: boolean } | undefined;
  /** Reason of the termination by EC2 or by a request. */
  stateReason?: { readonly code: string; readonly message: string };
  /** The stale state that reads return until a time. */
  stale?: { readonly until: number; readonly was: CloudInstance };
}

export interface CloudVolume {
  readonly volumeId: string;
  readonly deviceName: string;
  readonly deleteOnTermination: boolean;
  readonly name: string;
  /** Absent: it has outlived its instance. */
  instanceId?: string;
}

/** An image (AMI) as EC2's API describes it, as far as a driver reads it. */
export interface CloudImage {
  readonly imageId: string;
  readonly rootDeviceName?: string | null;
}

/** A rule of a script: the first that applies to a request wins. Fields as the recordings have them. */
export interface ScriptRule {
  readonly action: string;
  /** DescribeInstances by ids or by filters only. */
  readonly by?: 'id' | 'tags';
  /** So many requests pass untouched first. */
  readonly after?: number;
  /** Used up after so many; absent: never. */
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
  /** The request is carried out and its answer lost. */
  readonly lose?: boolean;
  readonly notVisible?: boolean;
  readonly empty?: boolean;
  /** The client cancels the request before the answer arrives. */
  readonly cancelCaller?: boolean;
}

/** How a launch is answered; absent: one instance with a name of its own. */
export interface LaunchAnswer {
  readonly instanceIds?: readonly (string | null)[];
  readonly privateDnsName?: string | null;
  readonly describedPrivateDnsName?: string | null;
}
