/*
 * The PJRT C interface, which frameworks load device libraries by: numbers and layouts of its
 * structs, for 64-bit hosts with natural alignment.
 *
 * tools/pjrt_abi.py writes this file; tests/pjrt/pjrt_abi.sh holds it against the table that it
 * comes from. Every function takes one struct, which begins with the bytes that its caller knows of
 * it: what lies behind them must not be touched (pjrt/abi/args.h). Types of callbacks have typedefs
 * here, for the interface names them.
 */
#ifndef PJRT_ABI_H
#define PJRT_ABI_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PJRT_API_MAJOR 0
#define PJRT_API_MINOR 112
#define PJRT_API_LAYOUTS_EXTENSION_VERSION 4
#define PJRT_API_MEMORY_DESCRIPTIONS_EXTENSION_VERSION 1
#define PJRT_API_PROFILER_EXTENSION_VERSION 1
#define PLUGIN_PROFILER_VERSION 1
#define PJRT_API_SHARDINGS_EXTENSION_VERSION 1

enum PJRT_Extension_Type {
    PJRT_Extension_Type_Gpu_Custom_Call = 0,
    PJRT_Extension_Type_Profiler = 1,
    PJRT_Extension_Type_Custom_Partitioner = 2,
    PJRT_Extension_Type_Stream = 3,
    PJRT_Extension_Type_Layouts = 4,
    PJRT_Extension_Type_FFI = 5,
    PJRT_Extension_Type_MemoryDescriptions = 6,
    PJRT_Extension_Type_Triton = 7,
    PJRT_Extension_Type_RawBuffer = 8,
    PJRT_Extension_Type_PhaseCompile = 9,
    PJRT_Extension_Type_Example = 10,
    PJRT_Extension_Type_Unknown = 11,
    PJRT_Extension_Type_CrossHostTransfers = 12,
    PJRT_Extension_Type_ExecutableMetadata = 13,
    PJRT_Extension_Type_Callback = 14,
    PJRT_Extension_Type_HostAllocator = 15,
    PJRT_Extension_Type_TpuTopology = 16,
    PJRT_Extension_Type_TpuExecutable = 17,
    PJRT_Extension_Type_Megascale = 18,
    PJRT_Extension_Type_Shardings = 19,
    PJRT_Extension_Type_AbiVersion = 20,
    PJRT_Extension_Type_Collectives = 21,
    PJRT_Extension_Type_MultiSlice = 22,
    PJRT_Extension_Type_HostMemoryAllocator = 23,
    PJRT_Extension_Type_XlaTransform = 24,
};

enum PJRT_Error_Code {
    PJRT_Error_Code_OK = 0,
    PJRT_Error_Code_CANCELLED = 1,
    PJRT_Error_Code_UNKNOWN = 2,
    PJRT_Error_Code_INVALID_ARGUMENT = 3,
    PJRT_Error_Code_DEADLINE_EXCEEDED = 4,
    PJRT_Error_Code_NOT_FOUND = 5,
    PJRT_Error_Code_ALREADY_EXISTS = 6,
    PJRT_Error_Code_PERMISSION_DENIED = 7,
    PJRT_Error_Code_RESOURCE_EXHAUSTED = 8,
    PJRT_Error_Code_FAILED_PRECONDITION = 9,
    PJRT_Error_Code_ABORTED = 10,
    PJRT_Error_Code_OUT_OF_RANGE = 11,
    PJRT_Error_Code_UNIMPLEMENTED = 12,
    PJRT_Error_Code_INTERNAL = 13,
    PJRT_Error_Code_UNAVAILABLE = 14,
    PJRT_Error_Code_DATA_LOSS = 15,
    PJRT_Error_Code_UNAUTHENTICATED = 16,
};

enum PJRT_NamedValue_Type {
    PJRT_NamedValue_kString = 0,
    PJRT_NamedValue_kInt64 = 1,
    PJRT_NamedValue_kInt64List = 2,
    PJRT_NamedValue_kFloat = 3,
    PJRT_NamedValue_kBool = 4,
};

enum PJRT_ProcessState {
    PJRT_ProcessState_kUnspecified = 0,
    PJRT_ProcessState_kUninitialized = 1,
    PJRT_ProcessState_kDisconnected = 2,
    PJRT_ProcessState_kConnected = 3,
    PJRT_ProcessState_kError = 4,
};

enum PJRT_Buffer_Type {
    PJRT_Buffer_Type_INVALID = 0,
    PJRT_Buffer_Type_PRED = 1,
    PJRT_Buffer_Type_S8 = 2,
    PJRT_Buffer_Type_S16 = 3,
    PJRT_Buffer_Type_S32 = 4,
    PJRT_Buffer_Type_S64 = 5,
    PJRT_Buffer_Type_U8 = 6,
    PJRT_Buffer_Type_U16 = 7,
    PJRT_Buffer_Type_U32 = 8,
    PJRT_Buffer_Type_U64 = 9,
    PJRT_Buffer_Type_F16 = 10,
    PJRT_Buffer_Type_F32 = 11,
    PJRT_Buffer_Type_F64 = 12,
    PJRT_Buffer_Type_BF16 = 13,
    PJRT_Buffer_Type_C64 = 14,
    PJRT_Buffer_Type_C128 = 15,
    PJRT_Buffer_Type_F8E5M2 = 16,
    PJRT_Buffer_Type_F8E4M3FN = 17,
    PJRT_Buffer_Type_F8E4M3B11FNUZ = 18,
    PJRT_Buffer_Type_F8E5M2FNUZ = 19,
    PJRT_Buffer_Type_F8E4M3FNUZ = 20,
    PJRT_Buffer_Type_S4 = 21,
    PJRT_Buffer_Type_U4 = 22,
    PJRT_Buffer_Type_TOKEN = 23,
    PJRT_Buffer_Type_S2 = 24,
    PJRT_Buffer_Type_U2 = 25,
    PJRT_Buffer_Type_F8E4M3 = 26,
    PJRT_Buffer_Type_F8E3M4 = 27,
    PJRT_Buffer_Type_F8E8M0FNU = 28,
    PJRT_Buffer_Type_F4E2M1FN = 29,
    PJRT_Buffer_Type_S1 = 30,
    PJRT_Buffer_Type_U1 = 31,
};

enum PJRT_HostBufferSemantics {
    PJRT_HostBufferSemantics_kImmutableOnlyDuringCall = 0,
    PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes = 1,
    PJRT_HostBufferSemantics_kImmutableZeroCopy = 2,
    PJRT_HostBufferSemantics_kMutableZeroCopy = 3,
};

enum PJRT_Buffer_MemoryLayout_Type {
    PJRT_Buffer_MemoryLayout_Type_Tiled = 0,
    PJRT_Buffer_MemoryLayout_Type_Strides = 1,
};

struct PJRT_Api;
struct PJRT_Api_Version;
struct PJRT_AsyncHostToDeviceTransferManager;
struct PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args;
struct PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args;
struct PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args;
struct PJRT_AsyncHostToDeviceTransferManager_Destroy_Args;
struct PJRT_AsyncHostToDeviceTransferManager_Device_Args;
struct PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args;
struct PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args;
struct PJRT_AsyncHostToDeviceTransferManager_TransferData_Args;
struct PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args;
struct PJRT_AsyncTrackingEvent;
struct PJRT_AsyncTrackingEvent_Destroy_Args;
struct PJRT_Buffer;
struct PJRT_Buffer_Bitcast_Args;
struct PJRT_Buffer_CopyRawToHostFuture_Args;
struct PJRT_Buffer_CopyRawToHostFuture_Callback_Args;
struct PJRT_Buffer_CopyRawToHost_Args;
struct PJRT_Buffer_CopyToDevice_Args;
struct PJRT_Buffer_CopyToMemory_Args;
struct PJRT_Buffer_DecreaseExternalReferenceCount_Args;
struct PJRT_Buffer_Delete_Args;
struct PJRT_Buffer_Destroy_Args;
struct PJRT_Buffer_Device_Args;
struct PJRT_Buffer_Dimensions_Args;
struct PJRT_Buffer_DonateWithControlDependency_Args;
struct PJRT_Buffer_DonateWithControlDependency_Callback_Args;
struct PJRT_Buffer_DynamicDimensionIndices_Args;
struct PJRT_Buffer_ElementType_Args;
struct PJRT_Buffer_GetMemoryLayout_Args;
struct PJRT_Buffer_IncreaseExternalReferenceCount_Args;
struct PJRT_Buffer_IsDeleted_Args;
struct PJRT_Buffer_IsOnCpu_Args;
struct PJRT_Buffer_MemoryLayout;
struct PJRT_Buffer_MemoryLayout_Strides;
struct PJRT_Buffer_MemoryLayout_Tiled;
struct PJRT_Buffer_Memory_Args;
struct PJRT_Buffer_OnDeviceSizeInBytes_Args;
struct PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args;
struct PJRT_Buffer_ReadyEvent_Args;
struct PJRT_Buffer_ToHostBuffer_Args;
struct PJRT_Buffer_UnpaddedDimensions_Args;
struct PJRT_Buffer_UnsafePointer_Args;
struct PJRT_Callback_PrefatalArgs;
struct PJRT_Chunk;
struct PJRT_Client;
struct PJRT_Client_AddressableDevices_Args;
struct PJRT_Client_AddressableMemories_Args;
struct PJRT_Client_BufferFromHostBuffer_Args;
struct PJRT_Client_Compile_Args;
struct PJRT_Client_CreateAliasBuffer_Args;
struct PJRT_Client_CreateBuffersForAsyncHostToDevice_Args;
struct PJRT_Client_CreateErrorBuffer_Args;
struct PJRT_Client_CreateUninitializedBuffer_Args;
struct PJRT_Client_CreateViewOfDeviceBuffer_Args;
struct PJRT_Client_Create_Args;
struct PJRT_Client_DefaultDeviceAssignment_Args;
struct PJRT_Client_Destroy_Args;
struct PJRT_Client_Devices_Args;
struct PJRT_Client_DmaMap_Args;
struct PJRT_Client_DmaUnmap_Args;
struct PJRT_Client_FulfillAliasBuffer_Args;
struct PJRT_Client_Load_Args;
struct PJRT_Client_LookupAddressableDevice_Args;
struct PJRT_Client_LookupDevice_Args;
struct PJRT_Client_PlatformName_Args;
struct PJRT_Client_PlatformVersion_Args;
struct PJRT_Client_ProcessIndex_Args;
struct PJRT_Client_TopologyDescription_Args;
struct PJRT_Client_UpdateGlobalProcessInfo_Args;
struct PJRT_Compile_Args;
struct PJRT_CopyToDeviceStream;
struct PJRT_CopyToDeviceStream_AddChunk_Args;
struct PJRT_CopyToDeviceStream_CurrentBytes_Args;
struct PJRT_CopyToDeviceStream_Destroy_Args;
struct PJRT_CopyToDeviceStream_GranuleSize_Args;
struct PJRT_CopyToDeviceStream_TotalBytes_Args;
struct PJRT_Device;
struct PJRT_DeviceAssignmentSerialized;
struct PJRT_DeviceDescription;
struct PJRT_DeviceDescription_Attributes_Args;
struct PJRT_DeviceDescription_DebugString_Args;
struct PJRT_DeviceDescription_Id_Args;
struct PJRT_DeviceDescription_Kind_Args;
struct PJRT_DeviceDescription_MemoryDescriptions_Args;
struct PJRT_DeviceDescription_ProcessIndex_Args;
struct PJRT_DeviceDescription_ToString_Args;
struct PJRT_Device_AddressableMemories_Args;
struct PJRT_Device_Attributes;
struct PJRT_Device_ClearMemoryStats_Args;
struct PJRT_Device_CreateAsyncTrackingEvent_Args;
struct PJRT_Device_DefaultMemory_Args;
struct PJRT_Device_GetAttributes_Args;
struct PJRT_Device_GetDescription_Args;
struct PJRT_Device_IsAddressable_Args;
struct PJRT_Device_LocalHardwareId_Args;
struct PJRT_Device_MemoryStats_Args;
struct PJRT_Device_PoisonExecution_Args;
struct PJRT_Error;
struct PJRT_Error_Destroy_Args;
struct PJRT_Error_ForEachPayload_Args;
struct PJRT_Error_FunctionTable;
struct PJRT_Error_GetCode_Args;
struct PJRT_Error_Message_Args;
struct PJRT_Event;
struct PJRT_Event_Await_Args;
struct PJRT_Event_Create_Args;
struct PJRT_Event_Destroy_Args;
struct PJRT_Event_Error_Args;
struct PJRT_Event_IsReady_Args;
struct PJRT_Event_OnReady_Args;
struct PJRT_Event_Set_Args;
struct PJRT_Executable;
struct PJRT_Executable_DeserializeAndLoad_Args;
struct PJRT_Executable_Destroy_Args;
struct PJRT_Executable_Fingerprint_Args;
struct PJRT_Executable_GetCompileOptions_Args;
struct PJRT_Executable_GetCompiledMemoryStats_Args;
struct PJRT_Executable_GetCostAnalysis_Args;
struct PJRT_Executable_Name_Args;
struct PJRT_Executable_NumOutputs_Args;
struct PJRT_Executable_NumPartitions_Args;
struct PJRT_Executable_NumReplicas_Args;
struct PJRT_Executable_OptimizedProgram_Args;
struct PJRT_Executable_OutputDimensions_Args;
struct PJRT_Executable_OutputElementTypes_Args;
struct PJRT_Executable_OutputMemoryKinds_Args;
struct PJRT_Executable_ParameterMemoryKinds_Args;
struct PJRT_Executable_Serialize_Args;
struct PJRT_Executable_SizeOfGeneratedCodeInBytes_Args;
struct PJRT_ExecuteContext;
struct PJRT_ExecuteContext_Create_Args;
struct PJRT_ExecuteContext_Destroy_Args;
struct PJRT_ExecuteOptions;
struct PJRT_Extension_Base;
struct PJRT_FulfillAliasBufferCallback;
struct PJRT_HloOutputCallbackInfo;
struct PJRT_KeyValueGetCallback_Args;
struct PJRT_KeyValuePutCallback_Args;
struct PJRT_KeyValueTryGetCallback_Args;
struct PJRT_Layouts_Extension;
struct PJRT_Layouts_MemoryLayout;
struct PJRT_Layouts_MemoryLayout_Destroy_Args;
struct PJRT_Layouts_MemoryLayout_Serialize_Args;
struct PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args;
struct PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args;
struct PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args;
struct PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args;
struct PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args;
struct PJRT_Layouts_SerializedLayout;
struct PJRT_LoadOptions;
struct PJRT_LoadedExecutable;
struct PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args;
struct PJRT_LoadedExecutable_AddressableDevices_Args;
struct PJRT_LoadedExecutable_Delete_Args;
struct PJRT_LoadedExecutable_Destroy_Args;
struct PJRT_LoadedExecutable_Execute_Args;
struct PJRT_LoadedExecutable_Fingerprint_Args;
struct PJRT_LoadedExecutable_GetDeviceAssignment_Args;
struct PJRT_LoadedExecutable_GetExecutable_Args;
struct PJRT_LoadedExecutable_IsDeleted_Args;
struct PJRT_LogicalDeviceIds;
struct PJRT_Memory;
struct PJRT_MemoryDescription;
struct PJRT_MemoryDescription_Kind_Args;
struct PJRT_MemoryDescriptions_Extension;
struct PJRT_Memory_AddressableByDevices_Args;
struct PJRT_Memory_DebugString_Args;
struct PJRT_Memory_FunctionTable;
struct PJRT_Memory_Id_Args;
struct PJRT_Memory_Kind_Args;
struct PJRT_Memory_Kind_Id_Args;
struct PJRT_Memory_ToString_Args;
struct PJRT_MultiSlice_Config;
struct PJRT_NamedValue;
struct PJRT_Plugin_Attributes_Args;
struct PJRT_Plugin_Initialize_Args;
struct PJRT_ProcessInfo;
struct PJRT_Profiler_Extension;
struct PJRT_Program;
struct PJRT_RecvCallbackInfo;
struct PJRT_Register_Batch_Partitionable_Args;
struct PJRT_SendCallbackInfo;
struct PJRT_SerializedCompileOptions;
struct PJRT_SerializedExecutable;
struct PJRT_SerializedTopology;
struct PJRT_ShapeSpec;
struct PJRT_Shardings_Extension;
struct PJRT_Shardings_PJRT_Executable_OutputShardings_Args;
struct PJRT_Shardings_PJRT_Executable_ParameterShardings_Args;
struct PJRT_TopologyDescription;
struct PJRT_TopologyDescription_Attributes_Args;
struct PJRT_TopologyDescription_Create_Args;
struct PJRT_TopologyDescription_Deserialize_Args;
struct PJRT_TopologyDescription_Destroy_Args;
struct PJRT_TopologyDescription_Fingerprint_Args;
struct PJRT_TopologyDescription_GetDeviceDescriptions_Args;
struct PJRT_TopologyDescription_GetMemorySpaceKindIds_Args;
struct PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args;
struct PJRT_TopologyDescription_PlatformName_Args;
struct PJRT_TopologyDescription_PlatformVersion_Args;
struct PJRT_TopologyDescription_Serialize_Args;
struct PLUGIN_Profiler;
struct PLUGIN_Profiler_Api;
struct PLUGIN_Profiler_CollectData_Args;
struct PLUGIN_Profiler_Create_Args;
struct PLUGIN_Profiler_Destroy_Args;
struct PLUGIN_Profiler_Error;
struct PLUGIN_Profiler_Error_Destroy_Args;
struct PLUGIN_Profiler_Error_GetCode_Args;
struct PLUGIN_Profiler_Error_Message_Args;
struct PLUGIN_Profiler_Start_Args;
struct PLUGIN_Profiler_Stop_Args;

typedef void (*PJRT_Error_PayloadVisitor)(const char* key, size_t key_size, const char* value,
        size_t value_size, void* user_arg);
typedef struct PJRT_Error* (*PJRT_CallbackError)(enum PJRT_Error_Code code, const char* message,
        size_t message_size);
typedef void (*PJRT_Event_OnReadyCallback)(struct PJRT_Error* error, void* user_arg);
typedef void (*PJRT_KeyValueGetCallback_ValueDeleter)(char* value);
typedef struct PJRT_Error* (*PJRT_KeyValueGetCallback)(struct PJRT_KeyValueGetCallback_Args*
        args);
typedef void (*PJRT_KeyValueTryGetCallback_ValueDeleter)(char* value);
typedef struct PJRT_Error* (*PJRT_KeyValueTryGetCallback)(struct
        PJRT_KeyValueTryGetCallback_Args* args);
typedef struct PJRT_Error* (*PJRT_KeyValuePutCallback)(struct PJRT_KeyValuePutCallback_Args*
        args);
typedef struct PJRT_Error* (*PJRT_SendCallback)(struct PJRT_Chunk* chunk, PJRT_CallbackError*
        callback_error, size_t total_size_in_bytes, bool done, void* user_arg);
typedef void (*PJRT_RecvCallback)(struct PJRT_CopyToDeviceStream* stream, void* user_arg);
typedef void (*PJRT_HloOutputCallback)(int64_t replica_id, int64_t partition_id, const void*
        data, const int64_t* shape_dims, size_t shape_num_dims, enum PJRT_Buffer_Type
        shape_element_type, int64_t operand_index, void* user_arg);

struct PJRT_Extension_Base {
    size_t struct_size;
    enum PJRT_Extension_Type type;
    struct PJRT_Extension_Base *next;
};

struct PJRT_Api_Version {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    int major_version;
    int minor_version;
};

struct PJRT_Error_Destroy_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Error *error;
};

struct PJRT_Error_Message_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    const struct PJRT_Error *error;
    const char *message;
    size_t message_size;
};

struct PJRT_Error_FunctionTable {
    size_t struct_size;
    size_t instance_size;
    struct PJRT_Extension_Base *extension_start;
    void (*destroy)(struct PJRT_Error* error);
    void (*message)(const struct PJRT_Error* error, const char** message, size_t* message_size);
    enum PJRT_Error_Code (*get_code)(const struct PJRT_Error* error);
    void (*for_each_payload)(const struct PJRT_Error* error, PJRT_Error_PayloadVisitor visitor,
            void* user_arg);
};

struct PJRT_Error {
    const struct PJRT_Error_FunctionTable *vtable;
};

struct PJRT_Error_GetCode_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    const struct PJRT_Error *error;
    enum PJRT_Error_Code code;
};

struct PJRT_Error_ForEachPayload_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    const struct PJRT_Error *error;
    PJRT_Error_PayloadVisitor visitor;
    void *user_arg;
};

struct PJRT_NamedValue {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    const char *name;
    size_t name_size;
    enum PJRT_NamedValue_Type type;
    union {
        const char *string_value;
        int64_t int64_value;
        const int64_t *int64_array_value;
        float float_value;
        bool bool_value;
    };
    size_t value_size;
};

struct PJRT_Plugin_Initialize_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
};

struct PJRT_Plugin_Attributes_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    const struct PJRT_NamedValue *attributes;
    size_t num_attributes;
};

struct PJRT_Event_Destroy_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Event *event;
};

struct PJRT_Event_IsReady_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Event *event;
    bool is_ready;
};

struct PJRT_Event_Error_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Event *event;
};

struct PJRT_Event_Await_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Event *event;
};

struct PJRT_Event_OnReady_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Event *event;
    PJRT_Event_OnReadyCallback callback;
    void *user_arg;
};

struct PJRT_Event_Create_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Event *event;
};

struct PJRT_Event_Set_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Event *event;
    enum PJRT_Error_Code error_code;
    const char *error_message;
    size_t error_message_size;
};

struct PJRT_Memory_FunctionTable {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    size_t instance_struct_size;
    void* (*get_user_data)(struct PJRT_Memory* memory, const void* key);
    void (*set_user_data)(struct PJRT_Memory* memory, const void* key, void* data, void (*
            dtor)(void*));
};

struct PJRT_Memory {
    const struct PJRT_Memory_FunctionTable *vtable;
};

struct PJRT_KeyValueGetCallback_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    const char *key;
    size_t key_size;
    int timeout_in_ms;
    PJRT_CallbackError *callback_error;
    void *user_arg;
    char *value;
    size_t value_size;
    PJRT_KeyValueGetCallback_ValueDeleter value_deleter_callback;
};

struct PJRT_KeyValueTryGetCallback_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    const char *key;
    size_t key_size;
    PJRT_CallbackError *callback_error;
    void *user_arg;
    char *value;
    size_t value_size;
    PJRT_KeyValueTryGetCallback_ValueDeleter value_deleter_callback;
};

struct PJRT_KeyValuePutCallback_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    const char *key;
    size_t key_size;
    const char *value;
    size_t value_size;
    PJRT_CallbackError *callback_error;
    void *user_arg;
};

struct PJRT_Client_Create_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    const struct PJRT_NamedValue *create_options;
    size_t num_options;
    PJRT_KeyValueGetCallback kv_get_callback;
    void *kv_get_user_arg;
    PJRT_KeyValuePutCallback kv_put_callback;
    void *kv_put_user_arg;
    struct PJRT_Client *client;
    PJRT_KeyValueTryGetCallback kv_try_get_callback;
    void *kv_try_get_user_arg;
};

struct PJRT_Client_Destroy_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Client *client;
};

struct PJRT_Client_PlatformName_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Client *client;
    const char *platform_name;
    size_t platform_name_size;
};

struct PJRT_Client_ProcessIndex_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Client *client;
    int process_index;
};

struct PJRT_Client_PlatformVersion_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Client *client;
    const char *platform_version;
    size_t platform_version_size;
};

struct PJRT_Client_TopologyDescription_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Client *client;
    struct PJRT_TopologyDescription *topology;
};

struct PJRT_Client_Devices_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Client *client;
    struct PJRT_Device* const *devices;
    size_t num_devices;
};

struct PJRT_Client_AddressableDevices_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Client *client;
    struct PJRT_Device* const *addressable_devices;
    size_t num_addressable_devices;
};

struct PJRT_Client_LookupDevice_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Client *client;
    int id;
    struct PJRT_Device *device;
};

struct PJRT_Client_LookupAddressableDevice_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Client *client;
    int local_hardware_id;
    struct PJRT_Device *addressable_device;
};

struct PJRT_ProcessInfo {
    size_t struct_size;
    int task_id;
    uint64_t incarnation_id;
    enum PJRT_ProcessState state;
    int error_code;
    const char *error_message;
    size_t error_message_size;
};

struct PJRT_Client_UpdateGlobalProcessInfo_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Client *client;
    struct PJRT_ProcessInfo *process_infos;
    size_t num_process_infos;
};

struct PJRT_Client_AddressableMemories_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Client *client;
    struct PJRT_Memory* const *addressable_memories;
    size_t num_addressable_memories;
};

struct PJRT_Program {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    char *code;
    size_t code_size;
    const char *format;
    size_t format_size;
};

struct PJRT_Client_Compile_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Client *client;
    const struct PJRT_Program *program;
    const char *compile_options;
    size_t compile_options_size;
    struct PJRT_LoadedExecutable *executable;
};

struct PJRT_Client_Load_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Client *client;
    struct PJRT_Executable *executable;
    const char *compile_options;
    size_t compile_options_size;
    struct PJRT_LoadedExecutable *loaded_executable;
};

struct PJRT_Client_DefaultDeviceAssignment_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Client *client;
    int num_replicas;
    int num_partitions;
    size_t default_assignment_size;
    int *default_assignment;
};

struct PJRT_Client_DmaMap_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Client *client;
    void *data;
    size_t size;
};

struct PJRT_Client_DmaUnmap_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Client *client;
    void *data;
};

struct PJRT_AsyncHostToDeviceTransferManager_Destroy_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
};

struct PJRT_AsyncHostToDeviceTransferManager_TransferData_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
    int buffer_index;
    const void *data;
    int64_t offset;
    int64_t transfer_size;
    bool is_last_transfer;
    struct PJRT_Event *done_with_h2d_transfer;
};

struct PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
    int buffer_index;
    struct PJRT_Buffer *buffer_out;
};

struct PJRT_AsyncHostToDeviceTransferManager_Device_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
    struct PJRT_Device *device_out;
};

struct PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
    size_t buffer_count;
};

struct PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
    int buffer_index;
    size_t buffer_size;
};

struct PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
    int buffer_index;
    enum PJRT_Error_Code error_code;
    const char *error_message;
    size_t error_message_size;
};

struct PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
    const struct PJRT_NamedValue *transfer_metadata;
    size_t num_metadata;
};

struct PJRT_Buffer_MemoryLayout_Tiled {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    const int64_t *minor_to_major;
    size_t minor_to_major_size;
    const int64_t *tile_dims;
    const size_t *tile_dim_sizes;
    size_t num_tiles;
};

struct PJRT_Buffer_MemoryLayout_Strides {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    const int64_t *byte_strides;
    size_t num_byte_strides;
};

struct PJRT_Buffer_MemoryLayout {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    union {
        struct PJRT_Buffer_MemoryLayout_Tiled tiled;
        struct PJRT_Buffer_MemoryLayout_Strides strides;
    };
    enum PJRT_Buffer_MemoryLayout_Type type;
};

struct PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
    int buffer_index;
    const void *data;
    const int64_t *shape_dims;
    size_t shape_num_dims;
    enum PJRT_Buffer_Type shape_element_type;
    struct PJRT_Buffer_MemoryLayout *shape_layout;
    struct PJRT_Event *done_with_h2d_transfer;
};

struct PJRT_Client_CreateUninitializedBuffer_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Client *client;
    const int64_t *shape_dims;
    size_t shape_num_dims;
    enum PJRT_Buffer_Type shape_element_type;
    struct PJRT_Buffer_MemoryLayout *shape_layout;
    struct PJRT_Device *device;
    struct PJRT_Memory *memory;
    struct PJRT_Buffer *buffer;
};

struct PJRT_Client_CreateErrorBuffer_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Client *client;
    enum PJRT_Error_Code error_code;
    const char *error_message;
    size_t error_message_size;
    const int64_t *shape_dims;
    size_t shape_num_dims;
    enum PJRT_Buffer_Type shape_element_type;
    struct PJRT_Buffer_MemoryLayout *shape_layout;
    struct PJRT_Memory *memory;
    struct PJRT_Buffer *buffer;
    const struct PJRT_NamedValue *payload;
    size_t num_payload;
};

struct PJRT_Client_CreateAliasBuffer_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Client *client;
    struct PJRT_Memory *memory;
    const int64_t *shape_dims;
    size_t shape_num_dims;
    enum PJRT_Buffer_Type shape_element_type;
    struct PJRT_Buffer_MemoryLayout *shape_layout;
    struct PJRT_Buffer *alias_buffer;
    struct PJRT_FulfillAliasBufferCallback *fulfill_alias_buffer_cb;
};

struct PJRT_Client_FulfillAliasBuffer_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Client *client;
    struct PJRT_Buffer *buffer;
    enum PJRT_Error_Code status_code;
    const char *error_message;
    size_t error_message_size;
    struct PJRT_FulfillAliasBufferCallback *fulfill_alias_buffer_cb;
};

struct PJRT_Client_BufferFromHostBuffer_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Client *client;
    const void *data;
    enum PJRT_Buffer_Type type;
    const int64_t *dims;
    size_t num_dims;
    const int64_t *byte_strides;
    size_t num_byte_strides;
    enum PJRT_HostBufferSemantics host_buffer_semantics;
    struct PJRT_Device *device;
    struct PJRT_Memory *memory;
    struct PJRT_Buffer_MemoryLayout *device_layout;
    struct PJRT_Event *done_with_host_buffer;
    struct PJRT_Buffer *buffer;
};

struct PJRT_Client_CreateViewOfDeviceBuffer_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Client *client;
    void *device_buffer_ptr;
    const int64_t *dims;
    size_t num_dims;
    enum PJRT_Buffer_Type element_type;
    struct PJRT_Buffer_MemoryLayout *layout;
    struct PJRT_Device *device;
    void (*on_delete_callback)(void* device_buffer_ptr, void* user_arg);
    void *on_delete_callback_arg;
    intptr_t stream;
    struct PJRT_Buffer *buffer;
    struct PJRT_Memory *memory;
};

struct PJRT_ShapeSpec {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    const int64_t *dims;
    size_t num_dims;
    enum PJRT_Buffer_Type element_type;
};

struct PJRT_Client_CreateBuffersForAsyncHostToDevice_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Client *client;
    struct PJRT_ShapeSpec *shape_specs;
    size_t num_shape_specs;
    struct PJRT_Buffer_MemoryLayout **device_layouts;
    size_t num_device_layouts;
    struct PJRT_Memory *memory;
    struct PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
};

struct PJRT_DeviceDescription_Id_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_DeviceDescription *device_description;
    int id;
};

struct PJRT_DeviceDescription_ProcessIndex_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_DeviceDescription *device_description;
    int process_index;
};

struct PJRT_DeviceDescription_Attributes_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_DeviceDescription *device_description;
    size_t num_attributes;
    const struct PJRT_NamedValue *attributes;
};

struct PJRT_DeviceDescription_Kind_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_DeviceDescription *device_description;
    const char *device_kind;
    size_t device_kind_size;
};

struct PJRT_DeviceDescription_DebugString_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_DeviceDescription *device_description;
    const char *debug_string;
    size_t debug_string_size;
};

struct PJRT_DeviceDescription_ToString_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_DeviceDescription *device_description;
    const char *to_string;
    size_t to_string_size;
};

struct PJRT_Device_GetDescription_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Device *device;
    struct PJRT_DeviceDescription *device_description;
};

struct PJRT_Device_IsAddressable_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Device *device;
    bool is_addressable;
};

struct PJRT_Device_LocalHardwareId_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Device *device;
    int local_hardware_id;
};

struct PJRT_Device_AddressableMemories_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Device *device;
    struct PJRT_Memory* const *memories;
    size_t num_memories;
};

struct PJRT_Device_DefaultMemory_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Device *device;
    struct PJRT_Memory *memory;
};

struct PJRT_Device_MemoryStats_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Device *device;
    int64_t bytes_in_use;
    int64_t peak_bytes_in_use;
    bool peak_bytes_in_use_is_set;
    int64_t num_allocs;
    bool num_allocs_is_set;
    int64_t largest_alloc_size;
    bool largest_alloc_size_is_set;
    int64_t bytes_limit;
    bool bytes_limit_is_set;
    int64_t bytes_reserved;
    bool bytes_reserved_is_set;
    int64_t peak_bytes_reserved;
    bool peak_bytes_reserved_is_set;
    int64_t bytes_reservable_limit;
    bool bytes_reservable_limit_is_set;
    int64_t largest_free_block_bytes;
    bool largest_free_block_bytes_is_set;
    int64_t pool_bytes;
    bool pool_bytes_is_set;
    int64_t peak_pool_bytes;
    bool peak_pool_bytes_is_set;
};

struct PJRT_Device_ClearMemoryStats_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Device *device;
};

struct PJRT_Device_PoisonExecution_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Device *device;
    int32_t launch_id;
    enum PJRT_Error_Code error_code;
    const char *error_message;
    size_t error_message_size;
    bool poisoned;
    const struct PJRT_NamedValue *payload;
    size_t num_payload;
};

struct PJRT_Device_GetAttributes_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Device *device;
    const struct PJRT_NamedValue *attributes;
    size_t num_attributes;
    struct PJRT_Device_Attributes *device_attributes;
    void (*attributes_deleter)(struct PJRT_Device_Attributes* device_attributes);
};

struct PJRT_Device_CreateAsyncTrackingEvent_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Device *device;
    const char *description;
    size_t description_size;
    struct PJRT_AsyncTrackingEvent *event;
};

struct PJRT_AsyncTrackingEvent_Destroy_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_AsyncTrackingEvent *event;
};

struct PJRT_Memory_Id_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Memory *memory;
    int id;
};

struct PJRT_Memory_Kind_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Memory *memory;
    const char *kind;
    size_t kind_size;
};

struct PJRT_Memory_Kind_Id_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Memory *memory;
    int kind_id;
};

struct PJRT_Memory_DebugString_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Memory *memory;
    const char *debug_string;
    size_t debug_string_size;
};

struct PJRT_Memory_ToString_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Memory *memory;
    const char *to_string;
    size_t to_string_size;
};

struct PJRT_Memory_AddressableByDevices_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Memory *memory;
    struct PJRT_Device* const *devices;
    size_t num_devices;
};

struct PJRT_ExecuteContext_Create_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_ExecuteContext *context;
};

struct PJRT_ExecuteContext_Destroy_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_ExecuteContext *context;
};

struct PJRT_Executable_Destroy_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Executable *executable;
};

struct PJRT_LoadedExecutable_Destroy_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_LoadedExecutable *executable;
};

struct PJRT_LoadedExecutable_GetExecutable_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_LoadedExecutable *loaded_executable;
    struct PJRT_Executable *executable;
};

struct PJRT_LoadedExecutable_GetDeviceAssignment_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_LoadedExecutable *executable;
    const char *serialized_bytes;
    size_t serialized_bytes_size;
    struct PJRT_DeviceAssignmentSerialized *serialized_device_assignment;
    void (*serialized_device_assignment_deleter)(struct PJRT_DeviceAssignmentSerialized* da);
};

struct PJRT_Executable_Name_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Executable *executable;
    const char *executable_name;
    size_t executable_name_size;
};

struct PJRT_Executable_NumReplicas_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Executable *executable;
    size_t num_replicas;
};

struct PJRT_Executable_NumPartitions_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Executable *executable;
    size_t num_partitions;
};

struct PJRT_LogicalDeviceIds {
    int replica;
    int partition;
};

struct PJRT_LoadedExecutable_AddressableDevices_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_LoadedExecutable *executable;
    struct PJRT_Device* const *addressable_devices;
    size_t num_addressable_devices;
};

struct PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_LoadedExecutable *executable;
    struct PJRT_LogicalDeviceIds *addressable_device_logical_ids;
    size_t num_addressable_device_logical_ids;
};

struct PJRT_Executable_OptimizedProgram_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Executable *executable;
    struct PJRT_Program *program;
};

struct PJRT_LoadedExecutable_Delete_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_LoadedExecutable *executable;
};

struct PJRT_LoadedExecutable_IsDeleted_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_LoadedExecutable *executable;
    bool is_deleted;
};

struct PJRT_Chunk {
    void *data;
    size_t size;
    void (*deleter)(void* data, void* deleter_arg);
    void *deleter_arg;
};

struct PJRT_SendCallbackInfo {
    int64_t channel_id;
    void *user_arg;
    PJRT_SendCallback send_callback;
};

struct PJRT_RecvCallbackInfo {
    int64_t channel_id;
    void *user_arg;
    PJRT_RecvCallback recv_callback;
};

struct PJRT_HloOutputCallbackInfo {
    void *user_arg;
    PJRT_HloOutputCallback callback;
    int64_t callback_id;
    size_t num_operands;
};

struct PJRT_ExecuteOptions {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_SendCallbackInfo **send_callbacks;
    struct PJRT_RecvCallbackInfo **recv_callbacks;
    size_t num_send_ops;
    size_t num_recv_ops;
    int launch_id;
    const int64_t *non_donatable_input_indices;
    size_t num_non_donatable_input_indices;
    struct PJRT_ExecuteContext *context;
    const char *call_location;
    size_t num_tasks;
    int *task_ids;
    int64_t *incarnation_ids;
    struct PJRT_MultiSlice_Config *multi_slice_config;
    bool use_major_to_minor_data_layout_for_callbacks;
    struct PJRT_HloOutputCallbackInfo *hlo_output_callbacks;
    size_t num_hlo_output_callbacks;
};

struct PJRT_LoadedExecutable_Execute_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_LoadedExecutable *executable;
    struct PJRT_ExecuteOptions *options;
    struct PJRT_Buffer* const* const *argument_lists;
    size_t num_devices;
    size_t num_args;
    struct PJRT_Buffer** const *output_lists;
    struct PJRT_Event **device_complete_events;
    struct PJRT_Device *execute_device;
};

struct PJRT_Executable_NumOutputs_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Executable *executable;
    size_t num_outputs;
};

struct PJRT_Executable_SizeOfGeneratedCodeInBytes_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Executable *executable;
    int64_t size_in_bytes;
};

struct PJRT_Executable_Fingerprint_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Executable *executable;
    const char *executable_fingerprint;
    size_t executable_fingerprint_size;
};

struct PJRT_Executable_GetCostAnalysis_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Executable *executable;
    size_t num_properties;
    const struct PJRT_NamedValue *properties;
};

struct PJRT_Executable_GetCompiledMemoryStats_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Executable *executable;
    int64_t generated_code_size_in_bytes;
    int64_t argument_size_in_bytes;
    int64_t output_size_in_bytes;
    int64_t alias_size_in_bytes;
    int64_t temp_size_in_bytes;
    int64_t host_generated_code_size_in_bytes;
    int64_t host_argument_size_in_bytes;
    int64_t host_output_size_in_bytes;
    int64_t host_alias_size_in_bytes;
    int64_t host_temp_size_in_bytes;
    int64_t peak_memory_in_bytes;
    int64_t total_size_in_bytes;
    int64_t total_allocation_bytes;
    int64_t indefinite_allocations;
    int64_t peak_unpadded_heap_bytes;
};

struct PJRT_Executable_OutputElementTypes_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Executable *executable;
    enum PJRT_Buffer_Type *output_types;
    size_t num_output_types;
};

struct PJRT_Executable_OutputDimensions_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Executable *executable;
    size_t num_outputs;
    const int64_t *dims;
    const size_t *dim_sizes;
};

struct PJRT_Executable_ParameterMemoryKinds_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Executable *executable;
    size_t num_parameters;
    const char* const *memory_kinds;
    const size_t *memory_kind_sizes;
};

struct PJRT_Executable_OutputMemoryKinds_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Executable *executable;
    size_t num_outputs;
    const char* const *memory_kinds;
    const size_t *memory_kind_sizes;
};

struct PJRT_Executable_Serialize_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    const struct PJRT_Executable *executable;
    const char *serialized_bytes;
    size_t serialized_bytes_size;
    struct PJRT_SerializedExecutable *serialized_executable;
    void (*serialized_executable_deleter)(struct PJRT_SerializedExecutable* exec);
};

struct PJRT_Executable_GetCompileOptions_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Executable *executable;
    const char *serialized_bytes;
    size_t serialized_bytes_size;
    struct PJRT_SerializedCompileOptions *serialized_compile_options;
    void (*serialized_compile_options_deleter)(struct PJRT_SerializedCompileOptions* options);
};

struct PJRT_LoadOptions {
    size_t struct_size;
    const int32_t *computation_origin;
    size_t computation_origin_size;
    struct PJRT_MultiSlice_Config *multi_slice_config;
};

struct PJRT_Executable_DeserializeAndLoad_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Client *client;
    const char *serialized_executable;
    size_t serialized_executable_size;
    struct PJRT_LoadedExecutable *loaded_executable;
    const char *overridden_serialized_compile_options;
    size_t overridden_serialized_compile_options_size;
    struct PJRT_LoadOptions *load_options;
};

struct PJRT_LoadedExecutable_Fingerprint_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_LoadedExecutable *executable;
    const char *executable_fingerprint;
    size_t executable_fingerprint_size;
};

struct PJRT_Buffer_Destroy_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Buffer *buffer;
};

struct PJRT_Buffer_ElementType_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Buffer *buffer;
    enum PJRT_Buffer_Type type;
};

struct PJRT_Buffer_Dimensions_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Buffer *buffer;
    const int64_t *dims;
    size_t num_dims;
};

struct PJRT_Buffer_UnpaddedDimensions_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Buffer *buffer;
    const int64_t *unpadded_dims;
    size_t num_dims;
};

struct PJRT_Buffer_DynamicDimensionIndices_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Buffer *buffer;
    const size_t *dynamic_dim_indices;
    size_t num_dynamic_dims;
};

struct PJRT_Buffer_GetMemoryLayout_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Buffer *buffer;
    struct PJRT_Buffer_MemoryLayout layout;
};

struct PJRT_Buffer_ToHostBuffer_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Buffer *src;
    struct PJRT_Buffer_MemoryLayout *host_layout;
    void *dst;
    size_t dst_size;
    struct PJRT_Event *event;
};

struct PJRT_Buffer_OnDeviceSizeInBytes_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Buffer *buffer;
    size_t on_device_size_in_bytes;
};

struct PJRT_Buffer_Delete_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Buffer *buffer;
};

struct PJRT_Buffer_IsDeleted_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Buffer *buffer;
    bool is_deleted;
};

struct PJRT_Buffer_CopyRawToHost_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Buffer *buffer;
    void *dst;
    int64_t offset;
    int64_t transfer_size;
    struct PJRT_Event *event;
};

struct PJRT_Buffer_CopyRawToHostFuture_Callback_Args {
    size_t struct_size;
    void *callback_data;
    enum PJRT_Error_Code error_code;
    const char *error_message;
    size_t error_message_size;
    void *dst;
};

struct PJRT_Buffer_CopyRawToHostFuture_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Buffer *buffer;
    int64_t offset;
    int64_t transfer_size;
    struct PJRT_Event *event;
    void *callback_data;
    void (*future_ready_callback)(struct PJRT_Buffer_CopyRawToHostFuture_Callback_Args* args);
};

struct PJRT_Buffer_CopyToDevice_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Buffer *buffer;
    struct PJRT_Device *dst_device;
    struct PJRT_Buffer *dst_buffer;
};

struct PJRT_Buffer_CopyToMemory_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Buffer *buffer;
    struct PJRT_Memory *dst_memory;
    struct PJRT_Buffer *dst_buffer;
};

struct PJRT_Buffer_Bitcast_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Buffer *buffer;
    enum PJRT_Buffer_Type element_type;
    const int64_t *dims;
    size_t num_dims;
    struct PJRT_Buffer_MemoryLayout *device_layout;
    struct PJRT_Buffer *out_buffer;
};

struct PJRT_Buffer_IsOnCpu_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Buffer *buffer;
    bool is_on_cpu;
};

struct PJRT_Buffer_Device_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Buffer *buffer;
    struct PJRT_Device *device;
};

struct PJRT_Buffer_Memory_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Buffer *buffer;
    struct PJRT_Memory *memory;
};

struct PJRT_Buffer_ReadyEvent_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Buffer *buffer;
    struct PJRT_Event *event;
};

struct PJRT_Buffer_UnsafePointer_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Buffer *buffer;
    uintptr_t buffer_pointer;
};

struct PJRT_Buffer_IncreaseExternalReferenceCount_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Buffer *buffer;
};

struct PJRT_Buffer_DecreaseExternalReferenceCount_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Buffer *buffer;
};

struct PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Buffer *buffer;
    void *device_memory_ptr;
};

struct PJRT_Buffer_DonateWithControlDependency_Callback_Args {
    size_t struct_size;
    void *callback_data;
    enum PJRT_Error_Code error_code;
    const char *error_message;
    size_t error_message_size;
};

struct PJRT_Buffer_DonateWithControlDependency_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Buffer *buffer;
    void *callback_data;
    void (*dependency_ready_callback)(struct
            PJRT_Buffer_DonateWithControlDependency_Callback_Args* args);
    struct PJRT_Buffer *out_buffer;
};

struct PJRT_CopyToDeviceStream_Destroy_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_CopyToDeviceStream *stream;
};

struct PJRT_CopyToDeviceStream_AddChunk_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_CopyToDeviceStream *stream;
    struct PJRT_Chunk *chunk;
    struct PJRT_Event *transfer_complete;
};

struct PJRT_CopyToDeviceStream_TotalBytes_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_CopyToDeviceStream *stream;
    int64_t total_bytes;
};

struct PJRT_CopyToDeviceStream_GranuleSize_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_CopyToDeviceStream *stream;
    int64_t granule_size_in_bytes;
};

struct PJRT_CopyToDeviceStream_CurrentBytes_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_CopyToDeviceStream *stream;
    int64_t current_bytes;
};

struct PJRT_TopologyDescription_Create_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    const char *topology_name;
    size_t topology_name_size;
    const struct PJRT_NamedValue *create_options;
    size_t num_options;
    struct PJRT_TopologyDescription *topology;
};

struct PJRT_TopologyDescription_Destroy_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_TopologyDescription *topology;
};

struct PJRT_TopologyDescription_PlatformVersion_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_TopologyDescription *topology;
    const char *platform_version;
    size_t platform_version_size;
};

struct PJRT_TopologyDescription_PlatformName_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    const struct PJRT_TopologyDescription *topology;
    const char *platform_name;
    size_t platform_name_size;
};

struct PJRT_TopologyDescription_GetDeviceDescriptions_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    const struct PJRT_TopologyDescription *topology;
    struct PJRT_DeviceDescription* const *descriptions;
    size_t num_descriptions;
};

struct PJRT_TopologyDescription_Serialize_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_TopologyDescription *topology;
    const char *serialized_bytes;
    size_t serialized_bytes_size;
    struct PJRT_SerializedTopology *serialized_topology;
    void (*serialized_topology_deleter)(struct PJRT_SerializedTopology* serialized_topology);
};

struct PJRT_TopologyDescription_Deserialize_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    const char *serialized_topology;
    size_t serialized_topology_size;
    struct PJRT_TopologyDescription *topology;
};

struct PJRT_TopologyDescription_Attributes_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_TopologyDescription *topology;
    const struct PJRT_NamedValue *attributes;
    size_t num_attributes;
};

struct PJRT_TopologyDescription_Fingerprint_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    const struct PJRT_TopologyDescription *topology;
    uint64_t fingerprint;
};

struct PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    const struct PJRT_TopologyDescription *topology;
    int memory_space_kind_id;
    const int64_t *dims;
    size_t num_dims;
    enum PJRT_Buffer_Type element_type;
    const struct PJRT_Buffer_MemoryLayout *layout;
    const char *serialized_shape;
    size_t serialized_shape_size;
    void (*serialized_shape_deleter)(const char*);
};

struct PJRT_TopologyDescription_GetMemorySpaceKindIds_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    const struct PJRT_TopologyDescription *topology;
    const int *memory_space_kind_ids;
    size_t num_memory_space_kind_ids;
};

struct PJRT_Compile_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    const struct PJRT_TopologyDescription *topology;
    const struct PJRT_Program *program;
    const char *compile_options;
    size_t compile_options_size;
    struct PJRT_Client *client;
    struct PJRT_Executable *executable;
};

struct PJRT_Layouts_MemoryLayout_Destroy_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Layouts_MemoryLayout *layout;
};

struct PJRT_Layouts_MemoryLayout_Serialize_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Layouts_MemoryLayout *layout;
    const char *serialized_bytes;
    size_t serialized_bytes_size;
    struct PJRT_Layouts_SerializedLayout *serialized_layout;
    void (*serialized_layout_deleter)(struct PJRT_Layouts_SerializedLayout* s_layout);
};

struct PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Buffer *buffer;
    struct PJRT_Layouts_MemoryLayout *layout;
};

struct PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Client *client;
    enum PJRT_Buffer_Type type;
    const int64_t *dims;
    size_t num_dims;
    struct PJRT_Layouts_MemoryLayout *layout;
};

struct PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_TopologyDescription *topology_description;
    enum PJRT_Buffer_Type type;
    const int64_t *dims;
    size_t num_dims;
    struct PJRT_Layouts_MemoryLayout *layout;
};

struct PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Executable *executable;
    size_t num_outputs;
    struct PJRT_Layouts_MemoryLayout **layouts;
};

struct PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Executable *executable;
    size_t num_parameters;
    struct PJRT_Layouts_MemoryLayout **layouts;
};

struct PJRT_Layouts_Extension {
    struct PJRT_Extension_Base base;
    struct PJRT_Error* (*PJRT_Layouts_MemoryLayout_Destroy)(struct
            PJRT_Layouts_MemoryLayout_Destroy_Args*);
    struct PJRT_Error* (*PJRT_Layouts_MemoryLayout_Serialize)(struct
            PJRT_Layouts_MemoryLayout_Serialize_Args*);
    struct PJRT_Error* (*PJRT_Layouts_PJRT_Client_GetDefaultLayout)(struct
            PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args*);
    struct PJRT_Error* (*PJRT_Layouts_PJRT_Buffer_MemoryLayout)(struct
            PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args*);
    struct PJRT_Error* (*PJRT_Layouts_PJRT_Topology_GetDefaultLayout)(struct
            PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args*);
    struct PJRT_Error* (*PJRT_Layouts_PJRT_Executable_GetOutputLayouts)(struct
            PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args*);
    struct PJRT_Error* (*PJRT_Layouts_PJRT_Executable_GetParameterLayouts)(struct
            PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args*);
};

struct PJRT_DeviceDescription_MemoryDescriptions_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_DeviceDescription *device_description;
    const struct PJRT_MemoryDescription* const *memory_descriptions;
    size_t num_memory_descriptions;
    size_t default_memory_index;
};

struct PJRT_MemoryDescription_Kind_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    const struct PJRT_MemoryDescription *memory_description;
    const char *kind;
    size_t kind_size;
    int kind_id;
};

struct PJRT_MemoryDescriptions_Extension {
    struct PJRT_Extension_Base base;
    struct PJRT_Error* (*PJRT_DeviceDescription_MemoryDescriptions)(struct
            PJRT_DeviceDescription_MemoryDescriptions_Args*);
    struct PJRT_Error* (*PJRT_MemoryDescription_Kind)(struct PJRT_MemoryDescription_Kind_Args*);
};

struct PJRT_Profiler_Extension {
    struct PJRT_Extension_Base base;
    struct PLUGIN_Profiler_Api *profiler_api;
    int64_t traceme_context_id;
};

struct PLUGIN_Profiler_Error_Destroy_Args {
    size_t struct_size;
    void *priv;
    struct PLUGIN_Profiler_Error *error;
};

struct PLUGIN_Profiler_Error_Message_Args {
    size_t struct_size;
    void *priv;
    const struct PLUGIN_Profiler_Error *error;
    const char *message;
    size_t message_size;
};

struct PLUGIN_Profiler_Error_GetCode_Args {
    size_t struct_size;
    void *priv;
    const struct PLUGIN_Profiler_Error *error;
    int code;
};

struct PLUGIN_Profiler_Create_Args {
    size_t struct_size;
    const char *options;
    size_t options_size;
    struct PLUGIN_Profiler *profiler;
};

struct PLUGIN_Profiler_Destroy_Args {
    size_t struct_size;
    struct PLUGIN_Profiler *profiler;
};

struct PLUGIN_Profiler_Start_Args {
    size_t struct_size;
    struct PLUGIN_Profiler *profiler;
};

struct PLUGIN_Profiler_Stop_Args {
    size_t struct_size;
    struct PLUGIN_Profiler *profiler;
};

struct PLUGIN_Profiler_CollectData_Args {
    size_t struct_size;
    struct PLUGIN_Profiler *profiler;
    uint8_t *buffer;
    size_t buffer_size_in_bytes;
};

struct PLUGIN_Profiler_Api {
    size_t struct_size;
    void *priv;
    void (*error_destroy)(struct PLUGIN_Profiler_Error_Destroy_Args*);
    void (*error_message)(struct PLUGIN_Profiler_Error_Message_Args*);
    struct PLUGIN_Profiler_Error* (*error_get_code)(struct PLUGIN_Profiler_Error_GetCode_Args*);
    struct PLUGIN_Profiler_Error* (*create)(struct PLUGIN_Profiler_Create_Args*);
    struct PLUGIN_Profiler_Error* (*destroy)(struct PLUGIN_Profiler_Destroy_Args*);
    struct PLUGIN_Profiler_Error* (*start)(struct PLUGIN_Profiler_Start_Args*);
    struct PLUGIN_Profiler_Error* (*stop)(struct PLUGIN_Profiler_Stop_Args*);
    struct PLUGIN_Profiler_Error* (*collect_data)(struct PLUGIN_Profiler_CollectData_Args*);
};

struct PJRT_Register_Batch_Partitionable_Args {
    size_t struct_size;
    const char *name;
    size_t name_size;
};

struct PJRT_Shardings_PJRT_Executable_ParameterShardings_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Executable *executable;
    size_t num_parameters;
    const char* const *shardings;
    const size_t *sharding_sizes;
};

struct PJRT_Shardings_PJRT_Executable_OutputShardings_Args {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Executable *executable;
    size_t num_outputs;
    const char* const *shardings;
    const size_t *sharding_sizes;
};

struct PJRT_Shardings_Extension {
    struct PJRT_Extension_Base base;
    struct PJRT_Error* (*PJRT_Shardings_PJRT_Executable_ParameterShardings)(struct
            PJRT_Shardings_PJRT_Executable_ParameterShardings_Args*);
    struct PJRT_Error* (*PJRT_Shardings_PJRT_Executable_OutputShardings)(struct
            PJRT_Shardings_PJRT_Executable_OutputShardings_Args*);
};

struct PJRT_Callback_PrefatalArgs {
    size_t struct_size;
    enum PJRT_Error_Code error_code;
    const char *error_message;
    size_t error_message_size;
};

/* The table itself, a slot for each row of functions.def. */
struct PJRT_Api {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Api_Version pjrt_api_version;
#define FUNCTION(name) struct PJRT_Error *(*PJRT_##name)(struct PJRT_##name##_Args *);
#define PROCEDURE(name) void (*PJRT_##name)(struct PJRT_##name##_Args *);
#include "pjrt/abi/functions.def"
};
#endif
