/**
 * Label keys. Source of keys and meanings: machine-controller-manager, pkg/apis/machine/v1alpha1/constants.go,
 * pkg/controller/deployment_util.go and pkg/util/provider/machineutils/utils.go.
 */
export const Labels = {
  /** On a Machine, the value is the name of its Node. */
  Node: 'node',
  /** On a Node, the value is the name of its Machine. */
  MachineName: 'node.gardener.cloud/machine-name',
  /** On a Machine, the value is the name of its MachineDeployment, for metrics and the replacement limit. */
  DeploymentName: 'name',
  /** On a MachineSet, its selector, its template and its Machines, the value is the hash of the template. */
  TemplateHash: 'machine-template-hash',
  /**
   * On a MachineSet or MachineDeployment, the value `True` stops the creation of machines; other values have no effect.
   */
  Freeze: 'freeze',
  /** On a Machine, a true value such as `true` or `True` forces the drain and deletes pods without a grace period. */
  ForceDeletion: 'force-deletion',
  /**
   * On a Machine, the value `True` forces the drain for an update in place or a preservation; other values have no
   * effect.
   */
  ForceDrain: 'force-drain',
  /** On a Node, the value `true` means that the Node waits for an update in place. */
  CandidateForUpdate: 'node.machine.sapcloud.io/candidate-for-update',
  /**
   * On a Node, any value means that the manager (`Auto`) or a user (`Manual`) selected the Node for an update in place.
   */
  SelectedForUpdate: 'node.machine.sapcloud.io/selected-for-update',
  /**
   * On a Node, the label stops rollouts from replacing or updating the Node. The value is `true`, or the end time in
   * seconds since 1970.
   */
  RolloutPostpone: 'rollout.machine.sapcloud.io/postpone',
  /**
   * On a Pod, the value `true` lets a rollout continue even if the Pod is not Ready after the soak time of the
   * canaries.
   */
  IgnoreReadiness: 'rollout.machine.sapcloud.io/ignore-readiness',
  /**
   * On a Node, `successful` or `failed` is the result of the update in place. On a Machine, `successful` means that the
   * manager moves the machine to the new MachineSet.
   */
  UpdateResult: 'node.machine.sapcloud.io/update-result',
  /** On an old MachineSet, any value stops the creation of machines during an update in place. */
  ScaleUpDisabled: 'node.machine.sapcloud.io/scale-up-disabled',
  /** On an EvictionRequest, the value is the UID of the Machine whose drain created the request. */
  MachineUid: 'machine.sapcloud.io/machine-uid',
  /** mcm reads the zone label of Kubernetes from `spec.nodeTemplate.metadata.labels` for metrics. */
  Zone: 'topology.kubernetes.io/zone',
} as const;

/** Values of {@link Labels.UpdateResult}. */
export const UpdateResults = { Successful: 'successful', Failed: 'failed' } as const;

/** Result of an in-place update, as reported by the agent of the node. */
export type UpdateResult = (typeof UpdateResults)[keyof typeof UpdateResults];

/** The only effective value of `freeze`, `force-drain`, and the prefer-no-schedule taint and annotation. */
export const TRUE = 'True';

/** Value of the in-place labels and of the cluster-autoscaler annotations. */
export const TRUE_LOWER = 'true';

const GO_TRUE: ReadonlySet<string> = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);

const GO_FALSE: ReadonlySet<string> = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False']);

/** Returns true if Go's `strconv.ParseBool` accepts the text as a boolean. */
export const isGoBoolean = (text: string): boolean => GO_TRUE.has(text) || GO_FALSE.has(text);

const NO: ReadonlySet<string> = new Set([...[...GO_FALSE].map((text) => text.toLowerCase()), 'no', 'off', 'disabled']);

export const isFalseText = (text: string): boolean => NO.has(text.trim().toLowerCase());

interface Labelled {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> };
}

/** Returns true if Go's `strconv.ParseBool` reads the value of the label `force-deletion` as true. */
export const isForceDeletion = (object: Labelled): boolean =>
  GO_TRUE.has(object.metadata.labels?.[Labels.ForceDeletion] ?? '');

/** Returns a warning if the label `freeze` has another value than `True`, because only `True` has an effect. */
export function freezeProblem({ metadata }: Labelled): string | undefined {
  const text = metadata.labels?.[Labels.Freeze];
  if (text === undefined || text === TRUE || text === 'False') return undefined;
  return `metadata.labels[${Labels.Freeze}]: ${JSON.stringify(text)} has no effect; write "True", or remove the label`;
}

/** Returns true if the object has the label `freeze: "True"`. */
export const isFrozen = (object: Labelled): boolean => object.metadata.labels?.[Labels.Freeze] === TRUE;
