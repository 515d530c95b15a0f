/** Labels on the wire. */
export const ConfigLabels = {
  /** On MachineConfigs: the role that pools select by. Rendered ones have none. Otherwise a pool would select its own output. */
  Role: 'machineconfiguration.openshift.io/role',
  /** On pools of the product. */
  BuiltIn: 'machineconfiguration.openshift.io/mco-built-in',
  /** Prefix of the label that KubeletConfigs use to select a pool: `<prefix><pool>`. */
  PoolPrefix: 'pools.operator.machineconfiguration.openshift.io/',
} as const;

/** Labels of Nodes that this package reads. */
export const NodeLabels = {
  RolePrefix: 'node-role.kubernetes.io/',
  Zone: 'topology.kubernetes.io/zone',
  OperatingSystem: 'kubernetes.io/os',
} as const;
