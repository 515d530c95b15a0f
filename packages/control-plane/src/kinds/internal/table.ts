/**
 * The internal structures of kube-apiserver, with their fields in order. An error about an immutable field ends with a
 * diff of two internal structures.
 *
 * Each row is `Structure: Field:type …`. `Field:type=name` contains the API name. The row omits the API name if the two
 * names differ only in upper and lower case. `=-` marks a field whose position in the API is different. Types:
 * - Fields of the types `''`, `0`, `b` (false) and `q` (quantity) always have a value.
 * - `?` is null if the field is not set, and `s` is a selector or null.
 * - `*S`, `[]S` and `{}S` are null or contain structures, and `S` is a structure that always exists.
 *
 * Source: the Go types of k8s.io/kubernetes pkg/apis v1.36, read by reflection.
 */
export const INTERNAL = `
AWSElasticBlockStoreVolumeSource: VolumeID:'' FSType:'' Partition:0 ReadOnly:b
Affinity: NodeAffinity:*NodeAffinity PodAffinity:*PodAffinity PodAntiAffinity:*PodAntiAffinity
AllocationResult: Devices:DeviceAllocationResult NodeSelector:*NodeSelector AllocationTimestamp:?
AppArmorProfile: Type:'' LocalhostProfile:?
AzureDiskVolumeSource: DiskName:'' DataDiskURI:''=diskURI CachingMode:? FSType:? ReadOnly:? Kind:?
AzureFilePersistentVolumeSource: SecretName:'' ShareName:'' ReadOnly:b SecretNamespace:?
AzureFileVolumeSource: SecretName:'' ShareName:'' ReadOnly:b
CELDeviceSelector: Expression:''
CSIPersistentVolumeSource: Driver:'' VolumeHandle:'' ReadOnly:b FSType:'' VolumeAttributes:? ControllerPublishSecretRef:*SecretReference NodeStageSecretRef:*SecretReference NodePublishSecretRef:*SecretReference ControllerExpandSecretRef:*SecretReference NodeExpandSecretRef:*SecretReference
CSIVolumeSource: Driver:'' ReadOnly:? FSType:? VolumeAttributes:? NodePublishSecretRef:*LocalObjectReference
Capabilities: Add:? Drop:?
CapacityRequirements: Requests:?
CephFSPersistentVolumeSource: Monitors:? Path:'' User:'' SecretFile:'' SecretRef:*SecretReference ReadOnly:b
CephFSVolumeSource: Monitors:? Path:'' User:'' SecretFile:'' SecretRef:*LocalObjectReference ReadOnly:b
CinderPersistentVolumeSource: VolumeID:'' FSType:'' ReadOnly:b SecretRef:*SecretReference
CinderVolumeSource: VolumeID:'' FSType:'' ReadOnly:b SecretRef:*LocalObjectReference
ClientIPConfig: TimeoutSeconds:?
ClusterTrustBundleProjection: Name:? SignerName:? LabelSelector:s Optional:? Path:''
ConfigMapEnvSource: Name:'' Optional:?
ConfigMapKeySelector: Name:'' Key:'' Optional:?
ConfigMapNodeConfigSource: Namespace:'' Name:'' UID:'' ResourceVersion:'' KubeletConfigKey:''
ConfigMapProjection: Name:'' Items:[]KeyToPath Optional:?
ConfigMapVolumeSource: Name:'' Items:[]KeyToPath DefaultMode:? Optional:?
Container: Name:'' Image:'' Command:? Args:? WorkingDir:'' Ports:[]ContainerPort EnvFrom:[]EnvFromSource Env:[]EnvVar Resources:ResourceRequirements ResizePolicy:[]ContainerResizePolicy RestartPolicy:? RestartPolicyRules:[]ContainerRestartRule VolumeMounts:[]VolumeMount VolumeDevices:[]VolumeDevice LivenessProbe:*Probe ReadinessProbe:*Probe StartupProbe:*Probe Lifecycle:*Lifecycle TerminationMessagePath:'' TerminationMessagePolicy:'' ImagePullPolicy:'' SecurityContext:*SecurityContext Stdin:b StdinOnce:b TTY:b
ContainerPort: Name:'' HostPort:0 ContainerPort:0 Protocol:'' HostIP:''
ContainerResizePolicy: ResourceName:'' RestartPolicy:''
ContainerRestartRule: Action:'' ExitCodes:*ContainerRestartRuleOnExitCodes
ContainerRestartRuleOnExitCodes: Operator:'' Values:?
DaemonSetUpdateStrategy: Type:'' RollingUpdate:*RollingUpdateDaemonSet
DeploymentStrategy: Type:'' RollingUpdate:*RollingUpdateDeployment
DeviceAllocationConfiguration: Source:'' Requests:? Opaque:*OpaqueDeviceConfiguration
DeviceAllocationResult: Results:[]DeviceRequestAllocationResult Config:[]DeviceAllocationConfiguration
DeviceAttribute: IntValue:?=int BoolValue:?=bool StringValue:?=string VersionValue:?=version IntValues:?=ints BoolValues:?=bools StringValues:?=strings VersionValues:?=versions
DeviceClaim: Requests:[]DeviceRequest Constraints:[]DeviceConstraint Config:[]DeviceClaimConfiguration
DeviceClaimConfiguration: Requests:? Opaque:*OpaqueDeviceConfiguration
DeviceConstraint: Requests:? MatchAttribute:? DistinctAttribute:?
DeviceRequest: Name:'' Exactly:*ExactDeviceRequest FirstAvailable:[]DeviceSubRequest
DeviceRequestAllocationResult: Request:'' Driver:'' Pool:'' Device:'' AdminAccess:? Tolerations:[]DeviceToleration BindingConditions:? BindingFailureConditions:? ShareID:? ConsumedCapacity:?
DeviceSelector: CEL:*CELDeviceSelector
DeviceSubRequest: Name:'' DeviceClassName:'' Selectors:[]DeviceSelector AllocationMode:'' Count:0 Tolerations:[]DeviceToleration Capacity:*CapacityRequirements
DeviceToleration: Key:'' Operator:'' Value:'' Effect:'' TolerationSeconds:?
DownwardAPIProjection: Items:[]DownwardAPIVolumeFile
DownwardAPIVolumeFile: Path:'' FieldRef:*ObjectFieldSelector ResourceFieldRef:*ResourceFieldSelector Mode:?
DownwardAPIVolumeSource: Items:[]DownwardAPIVolumeFile DefaultMode:?
EmptyDirVolumeSource: Medium:'' SizeLimit:?
EnvFromSource: Prefix:'' ConfigMapRef:*ConfigMapEnvSource SecretRef:*SecretEnvSource
EnvVar: Name:'' Value:'' ValueFrom:*EnvVarSource
EnvVarSource: FieldRef:*ObjectFieldSelector ResourceFieldRef:*ResourceFieldSelector ConfigMapKeyRef:*ConfigMapKeySelector SecretKeyRef:*SecretKeySelector FileKeyRef:*FileKeySelector
EphemeralContainer: Name:'' Image:'' Command:? Args:? WorkingDir:'' Ports:[]ContainerPort EnvFrom:[]EnvFromSource Env:[]EnvVar Resources:ResourceRequirements ResizePolicy:[]ContainerResizePolicy RestartPolicy:? RestartPolicyRules:[]ContainerRestartRule VolumeMounts:[]VolumeMount VolumeDevices:[]VolumeDevice LivenessProbe:*Probe ReadinessProbe:*Probe StartupProbe:*Probe Lifecycle:*Lifecycle TerminationMessagePath:'' TerminationMessagePolicy:'' ImagePullPolicy:'' SecurityContext:*SecurityContext Stdin:b StdinOnce:b TTY:b TargetContainerName:''
EphemeralContainerCommon: Name:'' Image:'' Command:? Args:? WorkingDir:'' Ports:[]ContainerPort EnvFrom:[]EnvFromSource Env:[]EnvVar Resources:ResourceRequirements ResizePolicy:[]ContainerResizePolicy RestartPolicy:? RestartPolicyRules:[]ContainerRestartRule VolumeMounts:[]VolumeMount VolumeDevices:[]VolumeDevice LivenessProbe:*Probe ReadinessProbe:*Probe StartupProbe:*Probe Lifecycle:*Lifecycle TerminationMessagePath:'' TerminationMessagePolicy:'' ImagePullPolicy:'' SecurityContext:*SecurityContext Stdin:b StdinOnce:b TTY:b
EphemeralVolumeSource: VolumeClaimTemplate:*PersistentVolumeClaimTemplate
ExactDeviceRequest: DeviceClassName:'' Selectors:[]DeviceSelector AllocationMode:'' Count:0 AdminAccess:? Tolerations:[]DeviceToleration Capacity:*CapacityRequirements
ExecAction: Command:?
FCVolumeSource: TargetWWNs:? Lun:? FSType:'' ReadOnly:b WWIDs:?
FileKeySelector: VolumeName:'' Path:'' Key:'' Optional:?
FlexPersistentVolumeSource: Driver:'' FSType:'' SecretRef:*SecretReference ReadOnly:b Options:?
FlexVolumeSource: Driver:'' FSType:'' SecretRef:*LocalObjectReference ReadOnly:b Options:?
FlockerVolumeSource: DatasetName:'' DatasetUUID:''
GCEPersistentDiskVolumeSource: PDName:'' FSType:'' Partition:0 ReadOnly:b
GRPCAction: Port:0 Service:?
GitRepoVolumeSource: Repository:'' Revision:'' Directory:''
GlusterfsPersistentVolumeSource: EndpointsName:''=endpoints Path:'' ReadOnly:b EndpointsNamespace:?
GlusterfsVolumeSource: EndpointsName:''=endpoints Path:'' ReadOnly:b
HTTPGetAction: Path:'' Port:0 Host:'' Scheme:'' HTTPHeaders:[]HTTPHeader
HTTPHeader: Name:'' Value:''
HostAlias: IP:'' Hostnames:?
HostPathVolumeSource: Path:'' Type:?
ISCSIPersistentVolumeSource: TargetPortal:'' IQN:'' Lun:0 ISCSIInterface:'' FSType:'' ReadOnly:b Portals:? DiscoveryCHAPAuth:b=chapAuthDiscovery SessionCHAPAuth:b=chapAuthSession SecretRef:*SecretReference InitiatorName:?
ISCSIVolumeSource: TargetPortal:'' IQN:'' Lun:0 ISCSIInterface:'' FSType:'' ReadOnly:b Portals:? DiscoveryCHAPAuth:b=chapAuthDiscovery SessionCHAPAuth:b=chapAuthSession SecretRef:*LocalObjectReference InitiatorName:?
ImageVolumeSource: Reference:'' PullPolicy:''
JobSpec: Parallelism:? Completions:? PodFailurePolicy:*PodFailurePolicy SuccessPolicy:*SuccessPolicy ActiveDeadlineSeconds:? BackoffLimit:? BackoffLimitPerIndex:? MaxFailedIndexes:? Selector:s ManualSelector:? Template:PodTemplateSpec TTLSecondsAfterFinished:? CompletionMode:? Suspend:? PodReplacementPolicy:? ManagedBy:?
KeyToPath: Key:'' Path:'' Mode:?
Lifecycle: PostStart:*LifecycleHandler PreStop:*LifecycleHandler StopSignal:?
LifecycleHandler: Exec:*ExecAction HTTPGet:*HTTPGetAction TCPSocket:*TCPSocketAction Sleep:*SleepAction
LocalObjectReference: Name:''
LocalVolumeSource: Path:'' FSType:?
NFSVolumeSource: Server:'' Path:'' ReadOnly:b
NodeAffinity: RequiredDuringSchedulingIgnoredDuringExecution:*NodeSelector PreferredDuringSchedulingIgnoredDuringExecution:[]PreferredSchedulingTerm
NodeConfigSource: ConfigMap:*ConfigMapNodeConfigSource
NodeSelector: NodeSelectorTerms:[]NodeSelectorTerm
NodeSelectorRequirement: Key:'' Operator:'' Values:?
NodeSelectorTerm: MatchExpressions:[]NodeSelectorRequirement MatchFields:[]NodeSelectorRequirement
NodeSpec: PodCIDRs:? ProviderID:'' Unschedulable:b Taints:[]Taint ConfigSource:*NodeConfigSource DoNotUseExternalID:''=externalID
ObjectFieldSelector: APIVersion:'' FieldPath:''
ObjectReference: Kind:'' Namespace:'' Name:'' UID:'' APIVersion:'' ResourceVersion:'' FieldPath:''
OpaqueDeviceConfiguration: Driver:'' Parameters:?
ParentReference: Group:'' Resource:'' Namespace:'' Name:''
PersistentVolumeClaimSpec: AccessModes:? Selector:s Resources:VolumeResourceRequirements VolumeName:'' StorageClassName:? VolumeMode:? DataSource:*TypedLocalObjectReference DataSourceRef:*TypedObjectReference VolumeAttributesClassName:?
PersistentVolumeClaimTemplate: ObjectMeta:ObjectMeta=metadata Spec:PersistentVolumeClaimSpec
PersistentVolumeClaimVolumeSource: ClaimName:'' ReadOnly:b
PersistentVolumeSource: GCEPersistentDisk:*GCEPersistentDiskVolumeSource AWSElasticBlockStore:*AWSElasticBlockStoreVolumeSource HostPath:*HostPathVolumeSource Glusterfs:*GlusterfsPersistentVolumeSource NFS:*NFSVolumeSource RBD:*RBDPersistentVolumeSource Quobyte:*QuobyteVolumeSource ISCSI:*ISCSIPersistentVolumeSource FlexVolume:*FlexPersistentVolumeSource Cinder:*CinderPersistentVolumeSource CephFS:*CephFSPersistentVolumeSource FC:*FCVolumeSource Flocker:*FlockerVolumeSource AzureFile:*AzureFilePersistentVolumeSource VsphereVolume:*VsphereVirtualDiskVolumeSource AzureDisk:*AzureDiskVolumeSource PhotonPersistentDisk:*PhotonPersistentDiskVolumeSource PortworxVolume:*PortworxVolumeSource ScaleIO:*ScaleIOPersistentVolumeSource Local:*LocalVolumeSource StorageOS:*StorageOSPersistentVolumeSource CSI:*CSIPersistentVolumeSource
PersistentVolumeSpec: Capacity:? GCEPersistentDisk:*GCEPersistentDiskVolumeSource AWSElasticBlockStore:*AWSElasticBlockStoreVolumeSource HostPath:*HostPathVolumeSource Glusterfs:*GlusterfsPersistentVolumeSource NFS:*NFSVolumeSource RBD:*RBDPersistentVolumeSource Quobyte:*QuobyteVolumeSource ISCSI:*ISCSIPersistentVolumeSource FlexVolume:*FlexPersistentVolumeSource Cinder:*CinderPersistentVolumeSource CephFS:*CephFSPersistentVolumeSource FC:*FCVolumeSource Flocker:*FlockerVolumeSource AzureFile:*AzureFilePersistentVolumeSource VsphereVolume:*VsphereVirtualDiskVolumeSource AzureDisk:*AzureDiskVolumeSource PhotonPersistentDisk:*PhotonPersistentDiskVolumeSource PortworxVolume:*PortworxVolumeSource ScaleIO:*ScaleIOPersistentVolumeSource Local:*LocalVolumeSource StorageOS:*StorageOSPersistentVolumeSource CSI:*CSIPersistentVolumeSource AccessModes:? ClaimRef:*ObjectReference PersistentVolumeReclaimPolicy:'' StorageClassName:'' MountOptions:? VolumeMode:? NodeAffinity:*VolumeNodeAffinity VolumeAttributesClassName:?
PhotonPersistentDiskVolumeSource: PdID:'' FSType:''
PodAffinity: RequiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm PreferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm
PodAffinityTerm: LabelSelector:s Namespaces:? TopologyKey:'' NamespaceSelector:s MatchLabelKeys:? MismatchLabelKeys:?
PodAntiAffinity: RequiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm PreferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm
PodCertificateProjection: SignerName:'' KeyType:'' MaxExpirationSeconds:? CredentialBundlePath:'' KeyPath:'' CertificateChainPath:'' UserAnnotations:?
PodDNSConfig: Nameservers:? Searches:? Options:[]PodDNSConfigOption
PodDNSConfigOption: Name:'' Value:?
PodDisruptionBudgetSpec: MinAvailable:? Selector:s MaxUnavailable:? UnhealthyPodEvictionPolicy:?
PodFailurePolicy: Rules:[]PodFailurePolicyRule
PodFailurePolicyOnExitCodesRequirement: ContainerName:? Operator:'' Values:?
PodFailurePolicyOnPodConditionsPattern: Type:'' Status:''
PodFailurePolicyRule: Action:'' OnExitCodes:*PodFailurePolicyOnExitCodesRequirement OnPodConditions:[]PodFailurePolicyOnPodConditionsPattern
PodOS: Name:''
PodReadinessGate: ConditionType:''
PodResourceClaim: Name:'' ResourceClaimName:? ResourceClaimTemplateName:?
PodSchedulingGate: Name:''
PodSchedulingGroup: PodGroupName:?
PodSecurityContext: HostNetwork:b=- HostPID:b=- HostIPC:b=- ShareProcessNamespace:?=- HostUsers:?=- SELinuxOptions:*SELinuxOptions WindowsOptions:*WindowsSecurityContextOptions RunAsUser:? RunAsGroup:? RunAsNonRoot:? SupplementalGroups:? SupplementalGroupsPolicy:? FSGroup:? FSGroupChangePolicy:? Sysctls:[]Sysctl SeccompProfile:*SeccompProfile AppArmorProfile:*AppArmorProfile SELinuxChangePolicy:?
PodSpec: Volumes:[]Volume InitContainers:[]Container Containers:[]Container EphemeralContainers:[]EphemeralContainer RestartPolicy:'' TerminationGracePeriodSeconds:? ActiveDeadlineSeconds:? DNSPolicy:'' NodeSelector:? ServiceAccountName:'' AutomountServiceAccountToken:? NodeName:'' SecurityContext:*PodSecurityContext ImagePullSecrets:[]LocalObjectReference Hostname:'' Subdomain:'' SetHostnameAsFQDN:? Affinity:*Affinity SchedulerName:'' Tolerations:[]Toleration HostAliases:[]HostAlias PriorityClassName:'' Priority:? PreemptionPolicy:? DNSConfig:*PodDNSConfig ReadinessGates:[]PodReadinessGate RuntimeClassName:? Overhead:? EnableServiceLinks:? TopologySpreadConstraints:[]TopologySpreadConstraint OS:*PodOS SchedulingGates:[]PodSchedulingGate ResourceClaims:[]PodResourceClaim Resources:*ResourceRequirements HostnameOverride:? SchedulingGroup:*PodSchedulingGroup
PodTemplateSpec: ObjectMeta:ObjectMeta=metadata Spec:PodSpec
PortworxVolumeSource: VolumeID:'' FSType:'' ReadOnly:b
PreferredSchedulingTerm: Weight:0 Preference:NodeSelectorTerm
Probe: Exec:*ExecAction HTTPGet:*HTTPGetAction TCPSocket:*TCPSocketAction GRPC:*GRPCAction InitialDelaySeconds:0 TimeoutSeconds:0 PeriodSeconds:0 SuccessThreshold:0 FailureThreshold:0 TerminationGracePeriodSeconds:?
ProbeHandler: Exec:*ExecAction HTTPGet:*HTTPGetAction TCPSocket:*TCPSocketAction GRPC:*GRPCAction
ProjectedVolumeSource: Sources:[]VolumeProjection DefaultMode:?
QuobyteVolumeSource: Registry:'' Volume:'' ReadOnly:b User:'' Group:'' Tenant:''
RBDPersistentVolumeSource: CephMonitors:?=monitors RBDImage:''=image FSType:'' RBDPool:''=pool RadosUser:''=user Keyring:'' SecretRef:*SecretReference ReadOnly:b
RBDVolumeSource: CephMonitors:?=monitors RBDImage:''=image FSType:'' RBDPool:''=pool RadosUser:''=user Keyring:'' SecretRef:*LocalObjectReference ReadOnly:b
ResourceClaim: Name:'' Request:''
ResourceClaimSpec: Devices:DeviceClaim
ResourceClaimTemplateSpec: ObjectMeta:ObjectMeta=metadata Spec:ResourceClaimSpec
ResourceFieldSelector: ContainerName:'' Resource:'' Divisor:q
ResourceRequirements: Limits:? Requests:? Claims:[]ResourceClaim
RollingUpdateDaemonSet: MaxUnavailable:0 MaxSurge:0
RollingUpdateDeployment: MaxUnavailable:0 MaxSurge:0
RollingUpdateStatefulSetStrategy: Partition:0 MaxUnavailable:?
SELinuxOptions: User:'' Role:'' Type:'' Level:''
ScaleIOPersistentVolumeSource: Gateway:'' System:'' SecretRef:*SecretReference SSLEnabled:b ProtectionDomain:'' StoragePool:'' StorageMode:'' VolumeName:'' FSType:'' ReadOnly:b
ScaleIOVolumeSource: Gateway:'' System:'' SecretRef:*LocalObjectReference SSLEnabled:b ProtectionDomain:'' StoragePool:'' StorageMode:'' VolumeName:'' FSType:'' ReadOnly:b
ScopeSelector: MatchExpressions:[]ScopedResourceSelectorRequirement
ScopedResourceSelectorRequirement: ScopeName:'' Operator:'' Values:?
SeccompProfile: Type:'' LocalhostProfile:?
SecretEnvSource: Name:'' Optional:?
SecretKeySelector: Name:'' Key:'' Optional:?
SecretProjection: Name:'' Items:[]KeyToPath Optional:?
SecretReference: Name:'' Namespace:''
SecretVolumeSource: SecretName:'' Items:[]KeyToPath DefaultMode:? Optional:?
SecurityContext: Capabilities:*Capabilities Privileged:? SELinuxOptions:*SELinuxOptions WindowsOptions:*WindowsSecurityContextOptions RunAsUser:? RunAsGroup:? RunAsNonRoot:? ReadOnlyRootFilesystem:? AllowPrivilegeEscalation:? ProcMount:? SeccompProfile:*SeccompProfile AppArmorProfile:*AppArmorProfile
ServiceAccountTokenProjection: Audience:'' ExpirationSeconds:0 Path:''
ServicePort: Name:'' Protocol:'' AppProtocol:? Port:0 TargetPort:0 NodePort:0
ServiceSpec: Type:'' Ports:[]ServicePort Selector:? ClusterIP:'' ClusterIPs:? IPFamilies:? IPFamilyPolicy:? ExternalName:'' ExternalIPs:? LoadBalancerIP:'' SessionAffinity:'' SessionAffinityConfig:*SessionAffinityConfig LoadBalancerSourceRanges:? ExternalTrafficPolicy:'' HealthCheckNodePort:0 PublishNotReadyAddresses:b AllocateLoadBalancerNodePorts:? LoadBalancerClass:? InternalTrafficPolicy:? TrafficDistribution:?
SessionAffinityConfig: ClientIP:*ClientIPConfig
SharedDeviceID: Driver:'' Pool:'' Device:'' ShareID:''
SleepAction: Seconds:0
StatefulSetUpdateStrategy: Type:'' RollingUpdate:*RollingUpdateStatefulSetStrategy
StorageOSPersistentVolumeSource: VolumeName:'' VolumeNamespace:'' FSType:'' ReadOnly:b SecretRef:*ObjectReference
StorageOSVolumeSource: VolumeName:'' VolumeNamespace:'' FSType:'' ReadOnly:b SecretRef:*LocalObjectReference
SuccessPolicy: Rules:[]SuccessPolicyRule
SuccessPolicyRule: SucceededIndexes:? SucceededCount:?
Sysctl: Name:'' Value:''
TCPSocketAction: Port:0 Host:''
Taint: Key:'' Value:'' Effect:'' TimeAdded:?
Toleration: Key:'' Operator:'' Value:'' Effect:'' TolerationSeconds:?
TopologySpreadConstraint: MaxSkew:0 TopologyKey:'' WhenUnsatisfiable:'' LabelSelector:s MinDomains:? NodeAffinityPolicy:? NodeTaintsPolicy:? MatchLabelKeys:?
TypedLocalObjectReference: APIGroup:? Kind:'' Name:''
TypedObjectReference: APIGroup:? Kind:'' Name:'' Namespace:?
Volume: Name:'' HostPath:*HostPathVolumeSource EmptyDir:*EmptyDirVolumeSource GCEPersistentDisk:*GCEPersistentDiskVolumeSource AWSElasticBlockStore:*AWSElasticBlockStoreVolumeSource GitRepo:*GitRepoVolumeSource Secret:*SecretVolumeSource NFS:*NFSVolumeSource ISCSI:*ISCSIVolumeSource Glusterfs:*GlusterfsVolumeSource PersistentVolumeClaim:*PersistentVolumeClaimVolumeSource RBD:*RBDVolumeSource Quobyte:*QuobyteVolumeSource FlexVolume:*FlexVolumeSource Cinder:*CinderVolumeSource CephFS:*CephFSVolumeSource Flocker:*FlockerVolumeSource DownwardAPI:*DownwardAPIVolumeSource FC:*FCVolumeSource AzureFile:*AzureFileVolumeSource ConfigMap:*ConfigMapVolumeSource VsphereVolume:*VsphereVirtualDiskVolumeSource AzureDisk:*AzureDiskVolumeSource PhotonPersistentDisk:*PhotonPersistentDiskVolumeSource Projected:*ProjectedVolumeSource PortworxVolume:*PortworxVolumeSource ScaleIO:*ScaleIOVolumeSource StorageOS:*StorageOSVolumeSource CSI:*CSIVolumeSource Ephemeral:*EphemeralVolumeSource Image:*ImageVolumeSource
VolumeDevice: Name:'' DevicePath:''
VolumeMount: Name:'' ReadOnly:b RecursiveReadOnly:? MountPath:'' SubPath:'' MountPropagation:? SubPathExpr:''
VolumeNodeAffinity: Required:*NodeSelector
VolumeProjection: Secret:*SecretProjection DownwardAPI:*DownwardAPIProjection ConfigMap:*ConfigMapProjection ServiceAccountToken:*ServiceAccountTokenProjection ClusterTrustBundle:*ClusterTrustBundleProjection PodCertificate:*PodCertificateProjection
VolumeResourceRequirements: Limits:? Requests:?
VolumeSource: HostPath:*HostPathVolumeSource EmptyDir:*EmptyDirVolumeSource GCEPersistentDisk:*GCEPersistentDiskVolumeSource AWSElasticBlockStore:*AWSElasticBlockStoreVolumeSource GitRepo:*GitRepoVolumeSource Secret:*SecretVolumeSource NFS:*NFSVolumeSource ISCSI:*ISCSIVolumeSource Glusterfs:*GlusterfsVolumeSource PersistentVolumeClaim:*PersistentVolumeClaimVolumeSource RBD:*RBDVolumeSource Quobyte:*QuobyteVolumeSource FlexVolume:*FlexVolumeSource Cinder:*CinderVolumeSource CephFS:*CephFSVolumeSource Flocker:*FlockerVolumeSource DownwardAPI:*DownwardAPIVolumeSource FC:*FCVolumeSource AzureFile:*AzureFileVolumeSource ConfigMap:*ConfigMapVolumeSource VsphereVolume:*VsphereVirtualDiskVolumeSource AzureDisk:*AzureDiskVolumeSource PhotonPersistentDisk:*PhotonPersistentDiskVolumeSource Projected:*ProjectedVolumeSource PortworxVolume:*PortworxVolumeSource ScaleIO:*ScaleIOVolumeSource StorageOS:*StorageOSVolumeSource CSI:*CSIVolumeSource Ephemeral:*EphemeralVolumeSource Image:*ImageVolumeSource
VsphereVirtualDiskVolumeSource: VolumePath:'' FSType:'' StoragePolicyName:'' StoragePolicyID:''
WeightedPodAffinityTerm: Weight:0 PodAffinityTerm:PodAffinityTerm
WindowsSecurityContextOptions: GMSACredentialSpecName:? GMSACredentialSpec:? RunAsUserName:? HostProcess:?
`;
