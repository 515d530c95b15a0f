/**
 * How the Go types of Kubernetes encode the fields of structures. A row describes one structure: `owner:
 * dropped|structures|kept|omitted|nulls`.
 *
 * - dropped: omitted when zero (`""`, 0, false, empty list or map)
 * - structures: always present, as `{}` when nothing is set
 * - kept: always present, as the zero value when nothing is set (null for lists, maps and times)
 * - omitted: structures and times that are absent when nothing in them is set
 * - nulls: always present, as null when not set
 *
 * Source: field types and `omitempty` / `omitzero` marks of k8s.io/api and k8s.io/apimachinery v0.36.
 */
export const SHAPES = `
admissionregistration.v1.ApplyConfiguration: expression
admissionregistration.v1.AuditAnnotation: ||key valueExpression
admissionregistration.v1.ExpressionWarning: ||fieldRef warning
admissionregistration.v1.JSONPatch: expression
admissionregistration.v1.MatchCondition: ||name expression
admissionregistration.v1.MatchResources: resourceRules excludeResourceRules
admissionregistration.v1.MutatingAdmissionPolicy: |metadata spec
admissionregistration.v1.MutatingAdmissionPolicyBinding: |metadata spec
admissionregistration.v1.MutatingAdmissionPolicyBindingSpec: policyName
admissionregistration.v1.MutatingAdmissionPolicySpec: variables mutations matchConditions reinvocationPolicy
admissionregistration.v1.MutatingWebhook: rules matchConditions|clientConfig|name admissionReviewVersions
admissionregistration.v1.MutatingWebhookConfiguration: webhooks|metadata
admissionregistration.v1.Mutation: ||patchType
admissionregistration.v1.NamedRuleWithOperations: resourceNames operations apiGroups apiVersions resources
admissionregistration.v1.ParamKind: apiVersion kind
admissionregistration.v1.ParamRef: name namespace
admissionregistration.v1.RuleWithOperations: operations apiGroups apiVersions resources
admissionregistration.v1.ServiceReference: ||namespace name
admissionregistration.v1.TypeChecking: expressionWarnings
admissionregistration.v1.ValidatingAdmissionPolicy: |metadata spec status
admissionregistration.v1.ValidatingAdmissionPolicyBinding: |metadata spec
admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec: policyName validationActions
admissionregistration.v1.ValidatingAdmissionPolicySpec: validations auditAnnotations matchConditions variables
admissionregistration.v1.ValidatingAdmissionPolicyStatus: observedGeneration conditions
admissionregistration.v1.ValidatingWebhook: rules matchConditions|clientConfig|name admissionReviewVersions
admissionregistration.v1.ValidatingWebhookConfiguration: webhooks|metadata
admissionregistration.v1.Validation: message messageExpression||expression
admissionregistration.v1.Variable: ||name expression
admissionregistration.v1.WebhookClientConfig: caBundle
apiextensions.v1.CustomResourceColumnDefinition: format description priority||name type jsonPath
apiextensions.v1.JSONSchemaProps: id $schema description type format title pattern enum required properties
apiextensions.v1.CustomResourceConversion: ||strategy
apiextensions.v1.JSONSchemaProps: exclusiveMaximum exclusiveMinimum uniqueItems allOf oneOf anyOf patternProperties
apiextensions.v1.CustomResourceDefinition: |metadata spec status
apiextensions.v1.CustomResourceDefinitionCondition: reason message observedGeneration||type status lastTransitionTime
apiextensions.v1.CustomResourceDefinitionNames: singular shortNames listKind categories||plural kind
apiextensions.v1.CustomResourceDefinitionSpec: preserveUnknownFields|names|group scope versions
apiextensions.v1.CustomResourceDefinitionStatus: observedGeneration|acceptedNames|conditions storedVersions
apiextensions.v1.CustomResourceDefinitionVersion: deprecated additionalPrinterColumns selectableFields||name served storage
apiextensions.v1.JSONSchemaProps: definitions nullable x-kubernetes-embedded-resource x-kubernetes-int-or-string
apiextensions.v1.CustomResourceSubresourceScale: ||specReplicasPath statusReplicasPath
apiextensions.v1.ExternalDocumentation: description url
apiextensions.v1.SelectableField: ||jsonPath
apiextensions.v1.JSONSchemaProps: x-kubernetes-list-map-keys x-kubernetes-validations
apiextensions.v1.ServiceReference: ||namespace name
apiextensions.v1.ValidationRule: message messageExpression fieldPath||rule
apiextensions.v1.WebhookClientConfig: caBundle
apiextensions.v1.WebhookConversion: ||conversionReviewVersions
apiregistration.v1.APIService: |metadata spec status
apiregistration.v1.APIServiceCondition: reason message||type status
apiregistration.v1.APIServiceSpec: caBundle group version insecureSkipTLSVerify||groupPriorityMinimum versionPriority
apiregistration.v1.APIServiceStatus: conditions
apiregistration.v1.ServiceReference: namespace name
apps.v1.ControllerRevision: |metadata|revision
apps.v1.DaemonSet: |metadata spec status
apps.v1.DaemonSetCondition: reason message||type status lastTransitionTime
apps.v1.DaemonSetSpec: minReadySeconds|template updateStrategy
apps.v1.DaemonSetStatus: observedGeneration updatedNumberScheduled numberAvailable numberUnavailable conditions||currentNumberScheduled numberMisscheduled desiredNumberScheduled numberReady
apps.v1.DaemonSetUpdateStrategy: type
apps.v1.Deployment: |metadata spec status
apps.v1.DeploymentCondition: reason message||type status lastUpdateTime lastTransitionTime
apps.v1.DeploymentSpec: minReadySeconds paused|template strategy
apps.v1.DeploymentStatus: observedGeneration replicas updatedReplicas readyReplicas availableReplicas unavailableReplicas conditions
apps.v1.DeploymentStrategy: type
apps.v1.ReplicaSet: |metadata spec status
apps.v1.ReplicaSetCondition: reason message||type status lastTransitionTime
apps.v1.ReplicaSetSpec: minReadySeconds|template
apps.v1.ReplicaSetStatus: fullyLabeledReplicas readyReplicas availableReplicas observedGeneration conditions||replicas
apps.v1.StatefulSet: |metadata spec status
apps.v1.StatefulSetCondition: reason message||type status lastTransitionTime
apps.v1.StatefulSetOrdinals: ||start
apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy: whenDeleted whenScaled
apps.v1.StatefulSetSpec: volumeClaimTemplates podManagementPolicy minReadySeconds|template updateStrategy|serviceName
apps.v1.StatefulSetStatus: observedGeneration readyReplicas currentReplicas updatedReplicas currentRevision updateRevision conditions||replicas availableReplicas
apps.v1.StatefulSetUpdateStrategy: type
authentication.v1.BoundObjectReference: kind apiVersion name uid
authentication.v1.SelfSubjectReview: |metadata status
authentication.v1.SelfSubjectReviewStatus: |userInfo
authentication.v1.TokenRequest: |metadata spec status
authentication.v1.TokenRequestSpec: ||audiences
authentication.v1.TokenRequestStatus: ||token expirationTimestamp
authentication.v1.TokenReview: |metadata spec status
authentication.v1.TokenReviewSpec: token audiences
authentication.v1.TokenReviewStatus: authenticated audiences error|user
authentication.v1.UserInfo: username uid groups extra
authorization.v1.FieldSelectorAttributes: rawSelector requirements
authorization.v1.LabelSelectorAttributes: rawSelector requirements
authorization.v1.LocalSubjectAccessReview: |metadata spec status
authorization.v1.NonResourceAttributes: path verb
authorization.v1.NonResourceRule: nonResourceURLs||verbs
authorization.v1.ResourceAttributes: namespace verb group version resource subresource name
authorization.v1.ResourceRule: apiGroups resources resourceNames||verbs
authorization.v1.SelfSubjectAccessReview: |metadata spec status
authorization.v1.SelfSubjectRulesReview: |metadata spec status
authorization.v1.SelfSubjectRulesReviewSpec: namespace
authorization.v1.SubjectAccessReview: |metadata spec status
authorization.v1.SubjectAccessReviewSpec: user groups extra uid
authorization.v1.SubjectAccessReviewStatus: denied reason evaluationError||allowed
authorization.v1.SubjectRulesReviewStatus: evaluationError||resourceRules nonResourceRules incomplete
autoscaling.v1.CrossVersionObjectReference: apiVersion||kind name
autoscaling.v1.HorizontalPodAutoscaler: |metadata spec status
autoscaling.v1.HorizontalPodAutoscalerSpec: |scaleTargetRef|maxReplicas
autoscaling.v1.HorizontalPodAutoscalerStatus: ||currentReplicas desiredReplicas
autoscaling.v1.Scale: |metadata spec status
autoscaling.v1.ScaleSpec: replicas
autoscaling.v1.ScaleStatus: selector||replicas
autoscaling.v2.ContainerResourceMetricSource: |target|name container
autoscaling.v2.ContainerResourceMetricStatus: |current|name container
autoscaling.v2.CrossVersionObjectReference: apiVersion||kind name
autoscaling.v2.ExternalMetricSource: |metric target
autoscaling.v2.ExternalMetricStatus: |metric current
autoscaling.v2.HPAScalingPolicy: ||type value periodSeconds
autoscaling.v2.HPAScalingRules: policies
autoscaling.v2.HorizontalPodAutoscaler: |metadata spec status
autoscaling.v2.HorizontalPodAutoscalerCondition: reason message||type status lastTransitionTime
autoscaling.v2.HorizontalPodAutoscalerSpec: metrics|scaleTargetRef|maxReplicas
autoscaling.v2.HorizontalPodAutoscalerStatus: currentReplicas conditions||desiredReplicas currentMetrics
autoscaling.v2.MetricIdentifier: ||name
autoscaling.v2.MetricSpec: ||type
autoscaling.v2.MetricStatus: ||type
autoscaling.v2.MetricTarget: ||type
autoscaling.v2.ObjectMetricSource: |describedObject target metric
autoscaling.v2.ObjectMetricStatus: |metric current describedObject
autoscaling.v2.PodsMetricSource: |metric target
autoscaling.v2.PodsMetricStatus: |metric current
autoscaling.v2.ResourceMetricSource: |target|name
autoscaling.v2.ResourceMetricStatus: |current|name
batch.v1.CronJob: |metadata spec status
batch.v1.CronJobSpec: concurrencyPolicy|jobTemplate|schedule
batch.v1.CronJobStatus: active
batch.v1.Job: |metadata spec status
batch.v1.JobCondition: reason message||type status lastProbeTime lastTransitionTime
batch.v1.JobSpec: |template
batch.v1.JobStatus: conditions active succeeded failed completedIndexes
batch.v1.JobTemplateSpec: |metadata spec
batch.v1.PodFailurePolicy: ||rules
batch.v1.PodFailurePolicyOnExitCodesRequirement: ||operator values
batch.v1.PodFailurePolicyOnPodConditionsPattern: ||type status
batch.v1.PodFailurePolicyRule: onPodConditions||action
batch.v1.SuccessPolicy: ||rules
batch.v1.UncountedTerminatedPods: succeeded failed
certificates.v1.CertificateSigningRequest: |metadata spec status
certificates.v1.CertificateSigningRequestCondition: reason message||type status lastUpdateTime lastTransitionTime
certificates.v1.CertificateSigningRequestSpec: usages username uid groups extra||request signerName
certificates.v1.CertificateSigningRequestStatus: conditions certificate
coordination.v1.Lease: |metadata spec
core.v1.AWSElasticBlockStoreVolumeSource: fsType partition readOnly||volumeID
core.v1.AppArmorProfile: ||type
core.v1.AttachedVolume: ||name devicePath
core.v1.AzureDiskVolumeSource: ||diskName diskURI
core.v1.AzureFilePersistentVolumeSource: readOnly||secretName shareName||secretNamespace
core.v1.AzureFileVolumeSource: readOnly||secretName shareName
core.v1.Binding: |metadata target
core.v1.CSIPersistentVolumeSource: readOnly fsType volumeAttributes||driver volumeHandle
core.v1.CSIVolumeSource: volumeAttributes||driver
core.v1.Capabilities: add drop
core.v1.CephFSPersistentVolumeSource: path user secretFile readOnly||monitors
core.v1.CephFSVolumeSource: path user secretFile readOnly||monitors
core.v1.CinderPersistentVolumeSource: fsType readOnly||volumeID
core.v1.CinderVolumeSource: fsType readOnly||volumeID
core.v1.ClusterTrustBundleProjection: ||path
core.v1.ComponentCondition: message error||type status
core.v1.ComponentStatus: conditions|metadata
core.v1.ConfigMap: data binaryData|metadata
core.v1.ConfigMapEnvSource: name
core.v1.ConfigMapKeySelector: name||key
core.v1.ConfigMapNodeConfigSource: uid resourceVersion||namespace name kubeletConfigKey
core.v1.ConfigMapProjection: name items
core.v1.ConfigMapVolumeSource: name items
core.v1.Container: image command args workingDir ports envFrom env resizePolicy restartPolicyRules volumeMounts volumeDevices terminationMessagePath terminationMessagePolicy imagePullPolicy stdin stdinOnce tty|resources|name
core.v1.ContainerExtendedResourceRequest: ||containerName resourceName requestName
core.v1.ContainerImage: sizeBytes||names
core.v1.ContainerPort: name hostPort protocol hostIP||containerPort
core.v1.ContainerResizePolicy: ||resourceName restartPolicy
core.v1.ContainerRestartRule: action
core.v1.ContainerRestartRuleOnExitCodes: operator values
core.v1.ContainerStateRunning: ||startedAt
core.v1.ContainerStateTerminated: signal reason message containerID||exitCode startedAt finishedAt
core.v1.ContainerStateWaiting: reason message
core.v1.ContainerStatus: containerID allocatedResources volumeMounts allocatedResourcesStatus|state lastState|name ready restartCount image imageID
core.v1.DaemonEndpoint: ||Port
core.v1.DownwardAPIProjection: items
core.v1.DownwardAPIVolumeFile: ||path
core.v1.DownwardAPIVolumeSource: items
core.v1.EmptyDirVolumeSource: medium
core.v1.EndpointAddress: hostname||ip
core.v1.EndpointPort: name protocol||port
core.v1.EndpointSubset: addresses notReadyAddresses ports
core.v1.Endpoints: subsets|metadata
core.v1.EnvFromSource: prefix
core.v1.EnvVar: value||name
core.v1.EphemeralContainer: image command args workingDir ports envFrom env resizePolicy restartPolicyRules volumeMounts volumeDevices terminationMessagePath terminationMessagePolicy imagePullPolicy stdin stdinOnce tty targetContainerName|resources|name
core.v1.Event: reason message count type action|metadata involvedObject source|firstTimestamp lastTimestamp eventTime reportingComponent reportingInstance
core.v1.EventSeries: count||lastObservedTime
core.v1.EventSource: component host
core.v1.ExecAction: command
core.v1.FCVolumeSource: targetWWNs fsType readOnly wwids
core.v1.FileKeySelector: ||volumeName path key
core.v1.FlexPersistentVolumeSource: fsType readOnly options||driver
core.v1.FlexVolumeSource: fsType readOnly options||driver
core.v1.FlockerVolumeSource: datasetName datasetUUID
core.v1.GCEPersistentDiskVolumeSource: fsType partition readOnly||pdName
core.v1.GRPCAction: ||port
core.v1.GitRepoVolumeSource: revision directory||repository
core.v1.GlusterfsPersistentVolumeSource: readOnly||endpoints path
core.v1.GlusterfsVolumeSource: readOnly||endpoints path
core.v1.HTTPGetAction: path host scheme httpHeaders||port
core.v1.HTTPHeader: ||name value
core.v1.HostAlias: hostnames||ip
core.v1.HostIP: ||ip
core.v1.HostPathVolumeSource: ||path
core.v1.ISCSIPersistentVolumeSource: iscsiInterface fsType readOnly portals chapAuthDiscovery chapAuthSession||targetPortal iqn lun
core.v1.ISCSIVolumeSource: iscsiInterface fsType readOnly portals chapAuthDiscovery chapAuthSession||targetPortal iqn lun
core.v1.ImageVolumeSource: reference pullPolicy
core.v1.ImageVolumeStatus: imageRef
core.v1.KeyToPath: ||key path
core.v1.LimitRange: |metadata spec
core.v1.LimitRangeItem: max min default defaultRequest maxLimitRequestRatio||type
core.v1.LimitRangeSpec: ||limits
core.v1.LinuxContainerUser: supplementalGroups||uid gid
core.v1.LoadBalancerIngress: ip hostname ports
core.v1.LoadBalancerStatus: ingress
core.v1.LocalObjectReference: name
core.v1.LocalVolumeSource: ||path
core.v1.ModifyVolumeStatus: targetVolumeAttributesClassName||status
core.v1.NFSVolumeSource: readOnly||server path
core.v1.Namespace: |metadata spec status
core.v1.NamespaceCondition: reason message||type status lastTransitionTime
core.v1.NamespaceSpec: finalizers
core.v1.NamespaceStatus: phase conditions
core.v1.Node: |metadata spec status
core.v1.NodeAddress: ||type address
core.v1.NodeAffinity: preferredDuringSchedulingIgnoredDuringExecution
core.v1.NodeAllocatableResourceClaimStatus: containers||resourceClaimName resources
core.v1.NodeCondition: reason message||type status lastHeartbeatTime lastTransitionTime
core.v1.NodeConfigStatus: error
core.v1.NodeDaemonEndpoints: |kubeletEndpoint
core.v1.NodeRuntimeHandler: ||name
core.v1.NodeSelector: ||nodeSelectorTerms
core.v1.NodeSelectorRequirement: values||key operator
core.v1.NodeSelectorTerm: matchExpressions matchFields
core.v1.NodeSpec: podCIDR podCIDRs providerID unschedulable taints externalID
core.v1.NodeStatus: capacity allocatable phase conditions addresses images volumesInUse volumesAttached runtimeHandlers declaredFeatures|daemonEndpoints nodeInfo
core.v1.NodeSystemInfo: ||machineID systemUUID bootID kernelVersion osImage containerRuntimeVersion kubeletVersion kubeProxyVersion operatingSystem architecture
core.v1.ObjectFieldSelector: apiVersion||fieldPath
core.v1.ObjectReference: kind namespace name uid apiVersion resourceVersion fieldPath
core.v1.PersistentVolume: |metadata spec status
core.v1.PersistentVolumeClaim: |metadata spec status
core.v1.PersistentVolumeClaimCondition: reason message||type status lastProbeTime lastTransitionTime
core.v1.PersistentVolumeClaimSpec: accessModes volumeName|resources
core.v1.PersistentVolumeClaimStatus: phase accessModes capacity conditions allocatedResources allocatedResourceStatuses
core.v1.PersistentVolumeClaimTemplate: |metadata spec
core.v1.PersistentVolumeClaimVolumeSource: readOnly||claimName
core.v1.PersistentVolumeSpec: capacity accessModes persistentVolumeReclaimPolicy storageClassName mountOptions
core.v1.PersistentVolumeStatus: phase message reason
core.v1.PhotonPersistentDiskVolumeSource: fsType||pdID
core.v1.Pod: |metadata spec status
core.v1.PodAffinity: requiredDuringSchedulingIgnoredDuringExecution preferredDuringSchedulingIgnoredDuringExecution
core.v1.PodAffinityTerm: namespaces matchLabelKeys mismatchLabelKeys||topologyKey
core.v1.PodAntiAffinity: requiredDuringSchedulingIgnoredDuringExecution preferredDuringSchedulingIgnoredDuringExecution
core.v1.PodCertificateProjection: signerName keyType credentialBundlePath keyPath certificateChainPath userAnnotations
core.v1.PodCondition: observedGeneration reason message||type status lastProbeTime lastTransitionTime
core.v1.PodDNSConfig: nameservers searches options
core.v1.PodDNSConfigOption: name
core.v1.PodExtendedResourceClaimStatus: ||requestMappings resourceClaimName
core.v1.PodIP: ||ip
core.v1.PodOS: ||name
core.v1.PodReadinessGate: ||conditionType
core.v1.PodResourceClaim: ||name
core.v1.PodResourceClaimStatus: ||name
core.v1.PodSchedulingGate: ||name
core.v1.PodSecurityContext: supplementalGroups sysctls
core.v1.PodSpec: volumes initContainers ephemeralContainers restartPolicy dnsPolicy nodeSelector serviceAccountName serviceAccount nodeName hostNetwork hostPID hostIPC imagePullSecrets hostname subdomain schedulerName tolerations hostAliases priorityClassName readinessGates overhead topologySpreadConstraints schedulingGates resourceClaims||containers
core.v1.PodStatus: observedGeneration phase conditions message reason nominatedNodeName hostIP hostIPs podIP podIPs initContainerStatuses containerStatuses qosClass ephemeralContainerStatuses resize resourceClaimStatuses allocatedResources nodeAllocatableResourceClaimStatuses
core.v1.PodTemplate: |metadata template
core.v1.PodTemplateSpec: |metadata spec
core.v1.PortStatus: ||port protocol
core.v1.PortworxVolumeSource: fsType readOnly||volumeID
core.v1.PreferredSchedulingTerm: |preference|weight
core.v1.Probe: initialDelaySeconds timeoutSeconds periodSeconds successThreshold failureThreshold
core.v1.ProjectedVolumeSource: ||sources
core.v1.QuobyteVolumeSource: readOnly user group tenant||registry volume
core.v1.RBDPersistentVolumeSource: fsType pool user keyring readOnly||monitors image
core.v1.RBDVolumeSource: fsType pool user keyring readOnly||monitors image
core.v1.ReplicationController: |metadata spec status
core.v1.ReplicationControllerCondition: reason message||type status lastTransitionTime
core.v1.ReplicationControllerSpec: minReadySeconds selector
core.v1.ReplicationControllerStatus: fullyLabeledReplicas readyReplicas availableReplicas observedGeneration conditions||replicas
core.v1.ResourceClaim: request||name
core.v1.ResourceFieldSelector: containerName||resource divisor
core.v1.ResourceHealth: health||resourceID
core.v1.ResourceQuota: |metadata spec status
core.v1.ResourceQuotaSpec: hard scopes
core.v1.ResourceQuotaStatus: hard used
core.v1.ResourceRequirements: limits requests claims
core.v1.ResourceStatus: resources||name
core.v1.SELinuxOptions: user role type level
core.v1.ScaleIOPersistentVolumeSource: sslEnabled protectionDomain storagePool storageMode volumeName fsType readOnly||gateway system||secretRef
core.v1.ScaleIOVolumeSource: sslEnabled protectionDomain storagePool storageMode volumeName fsType readOnly||gateway system||secretRef
core.v1.ScopeSelector: matchExpressions
core.v1.ScopedResourceSelectorRequirement: values||scopeName operator
core.v1.SeccompProfile: ||type
core.v1.Secret: data stringData type|metadata
core.v1.SecretEnvSource: name
core.v1.SecretKeySelector: name||key
core.v1.SecretProjection: name items
core.v1.SecretReference: name namespace
core.v1.SecretVolumeSource: secretName items
core.v1.Service: |metadata spec status
core.v1.ServiceAccount: secrets imagePullSecrets|metadata
core.v1.ServiceAccountTokenProjection: audience||path
core.v1.ServicePort: name protocol nodePort||port targetPort
core.v1.ServiceSpec: ports selector clusterIP clusterIPs type externalIPs sessionAffinity loadBalancerIP loadBalancerSourceRanges externalName externalTrafficPolicy healthCheckNodePort publishNotReadyAddresses ipFamilies
core.v1.ServiceStatus: conditions|loadBalancer
core.v1.SleepAction: ||seconds
core.v1.StorageOSPersistentVolumeSource: volumeName volumeNamespace fsType readOnly
core.v1.StorageOSVolumeSource: volumeName volumeNamespace fsType readOnly
core.v1.Sysctl: ||name value
core.v1.TCPSocketAction: host||port
core.v1.Taint: value||key effect
core.v1.Toleration: key operator value effect
core.v1.TopologySelectorLabelRequirement: ||key values
core.v1.TopologySelectorTerm: matchLabelExpressions
core.v1.TopologySpreadConstraint: matchLabelKeys||maxSkew topologyKey whenUnsatisfiable
core.v1.TypedLocalObjectReference: ||kind name||apiGroup
core.v1.TypedObjectReference: ||kind name||apiGroup
core.v1.Volume: ||name
core.v1.VolumeDevice: ||name devicePath
core.v1.VolumeMount: readOnly subPath subPathExpr||name mountPath
core.v1.VolumeMountStatus: readOnly||name mountPath
core.v1.VolumeResourceRequirements: limits requests
core.v1.VsphereVirtualDiskVolumeSource: fsType storagePolicyName storagePolicyID||volumePath
core.v1.WeightedPodAffinityTerm: |podAffinityTerm|weight
discovery.v1.Endpoint: deprecatedTopology|conditions|addresses
discovery.v1.EndpointHints: forZones forNodes
discovery.v1.EndpointSlice: |metadata|addressType endpoints ports
discovery.v1.ForNode: ||name
discovery.v1.ForZone: ||name
events.v1.Event: reportingController reportingInstance action reason note type deprecatedCount|metadata regarding deprecatedSource|eventTime deprecatedFirstTimestamp deprecatedLastTimestamp
events.v1.EventSeries: ||count lastObservedTime
flowcontrol.v1.FlowDistinguisherMethod: ||type
flowcontrol.v1.FlowSchema: |metadata spec status
flowcontrol.v1.FlowSchemaCondition: type status reason message||lastTransitionTime
flowcontrol.v1.FlowSchemaSpec: rules|priorityLevelConfiguration|matchingPrecedence
flowcontrol.v1.FlowSchemaStatus: conditions
flowcontrol.v1.GroupSubject: ||name
flowcontrol.v1.LimitResponse: ||type
flowcontrol.v1.LimitedPriorityLevelConfiguration: |limitResponse
flowcontrol.v1.NonResourcePolicyRule: ||verbs nonResourceURLs
flowcontrol.v1.PolicyRulesWithSubjects: resourceRules nonResourceRules||subjects
flowcontrol.v1.PriorityLevelConfiguration: |metadata spec status
flowcontrol.v1.PriorityLevelConfigurationCondition: type status reason message||lastTransitionTime
flowcontrol.v1.PriorityLevelConfigurationReference: ||name
flowcontrol.v1.PriorityLevelConfigurationSpec: ||type
flowcontrol.v1.PriorityLevelConfigurationStatus: conditions
flowcontrol.v1.QueuingConfiguration: ||queues handSize queueLengthLimit
flowcontrol.v1.ResourcePolicyRule: clusterScope||verbs apiGroups resources namespaces
flowcontrol.v1.ServiceAccountSubject: ||namespace name
flowcontrol.v1.Subject: ||kind
flowcontrol.v1.UserSubject: ||name
meta.v1.Condition: observedGeneration||type status lastTransitionTime reason message
meta.v1.DeleteOptions: dryRun
meta.v1.FieldSelectorRequirement: values||key operator
meta.v1.LabelSelector: matchLabels matchExpressions
meta.v1.LabelSelectorRequirement: values||key operator
meta.v1.ManagedFieldsEntry: manager operation apiVersion fieldsType subresource
meta.v1.ObjectMeta: name generateName namespace selfLink uid resourceVersion generation labels annotations ownerReferences finalizers managedFields|||creationTimestamp
meta.v1.OwnerReference: ||apiVersion kind name uid
networking.v1.HTTPIngressPath: path|backend
networking.v1.HTTPIngressRuleValue: ||paths
networking.v1.IPBlock: except||cidr
networking.v1.Ingress: |metadata spec status
networking.v1.IPAddress: |metadata spec
networking.v1.IngressClass: |metadata spec
networking.v1.IngressClassParametersReference: ||kind name
networking.v1.IngressClassSpec: controller
networking.v1.IngressLoadBalancerIngress: ip hostname ports
networking.v1.IngressLoadBalancerStatus: ingress
networking.v1.IngressPortStatus: ||port protocol
networking.v1.IngressRule: host
networking.v1.IngressServiceBackend: |port|name
networking.v1.IngressSpec: tls rules
networking.v1.IngressStatus: |loadBalancer
networking.v1.IngressTLS: hosts secretName
networking.v1.NetworkPolicy: |metadata spec
networking.v1.NetworkPolicyEgressRule: ports to
networking.v1.NetworkPolicyIngressRule: ports from
networking.v1.NetworkPolicySpec: ingress egress policyTypes|podSelector
networking.v1.ParentReference: group resource namespace name
networking.v1.ServiceCIDR: |metadata spec status
networking.v1.ServiceCIDRSpec: cidrs
networking.v1.ServiceCIDRStatus: conditions
networking.v1.ServiceBackendPort: name number
node.v1.Overhead: podFixed
node.v1.RuntimeClass: |metadata|handler
node.v1.Scheduling: nodeSelector tolerations
policy.v1.Eviction: |metadata
policy.v1.PodDisruptionBudget: |metadata spec status
policy.v1.PodDisruptionBudgetStatus: observedGeneration disruptedPods conditions||disruptionsAllowed currentHealthy desiredHealthy expectedPods
rbac.v1.AggregationRule: clusterRoleSelectors
rbac.v1.ClusterRole: |metadata|rules
rbac.v1.ClusterRoleBinding: subjects|metadata roleRef
rbac.v1.PolicyRule: apiGroups resources resourceNames nonResourceURLs||verbs
rbac.v1.Role: |metadata|rules
rbac.v1.RoleBinding: subjects|metadata roleRef
rbac.v1.RoleRef: ||apiGroup kind name
rbac.v1.Subject: apiGroup namespace||kind name
resource.v1.AllocatedDeviceStatus: ||driver pool device conditions
resource.v1.AllocationResult: |devices
resource.v1.CELDeviceSelector: ||expression
resource.v1.CapacityRequestPolicy: validValues||||default
resource.v1.CapacityRequirements: requests
resource.v1.Counter: ||value
resource.v1.CounterSet: counters||name
resource.v1.Device: attributes capacity consumesCounters taints bindingConditions bindingFailureConditions nodeAllocatableResourceMappings||name
resource.v1.DeviceAllocationConfiguration: requests||source
resource.v1.DeviceAllocationResult: results config
resource.v1.DeviceAttribute: ints bools strings versions
resource.v1.DeviceCapacity: ||value
resource.v1.DeviceClaim: constraints config||requests
resource.v1.DeviceClaimConfiguration: requests
resource.v1.DeviceClass: |metadata spec
resource.v1.DeviceClassSpec: selectors config
resource.v1.DeviceConstraint: requests
resource.v1.DeviceCounterConsumption: counters||counterSet
resource.v1.DeviceRequest: firstAvailable||name
resource.v1.DeviceRequestAllocationResult: tolerations bindingConditions bindingFailureConditions consumedCapacity||request driver pool device
resource.v1.DeviceSubRequest: selectors allocationMode count tolerations||name deviceClassName
resource.v1.DeviceTaint: value||key effect
resource.v1.DeviceToleration: key operator value effect
resource.v1.ExactDeviceRequest: selectors allocationMode count tolerations||deviceClassName
resource.v1.NetworkDeviceData: interfaceName ips hardwareAddress
resource.v1.OpaqueDeviceConfiguration: ||driver||parameters
resource.v1.ResourceClaim: |metadata spec status
resource.v1.ResourceClaimConsumerReference: apiGroup||resource name uid
resource.v1.ResourceClaimSpec: |devices
resource.v1.ResourceClaimStatus: reservedFor devices
resource.v1.ResourceClaimTemplate: |metadata spec
resource.v1.ResourceClaimTemplateSpec: |metadata spec
resource.v1.ResourcePool: ||name generation resourceSliceCount
resource.v1.ResourceSlice: |metadata spec
resource.v1.ResourceSliceSpec: devices sharedCounters|pool|driver
scheduling.v1.PriorityClass: globalDefault description|metadata|value
storage.v1.CSIDriver: |metadata spec
storage.v1.CSIDriverSpec: volumeLifecycleModes tokenRequests
storage.v1.CSINode: |metadata spec
storage.v1.CSINodeDriver: ||name nodeID topologyKeys
storage.v1.CSINodeSpec: ||drivers
storage.v1.CSIStorageCapacity: |metadata|storageClassName
storage.v1.StorageClass: parameters mountOptions allowedTopologies|metadata|provisioner
storage.v1.TokenRequest: ||audience
storage.v1.VolumeAttachment: |metadata spec status
storage.v1.VolumeAttachmentSpec: |source|attacher nodeName
storage.v1.VolumeAttachmentStatus: attachmentMetadata||attached
storage.v1.VolumeAttributesClass: parameters|metadata|driverName
storage.v1.VolumeError: message||time
`;
