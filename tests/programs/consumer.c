/* Loads a SavedModel with TensorFlow's C library, and calls it on one matrix.
 *
 *   consumer MODEL TYPE INPUT OUTPUT ROWS COLUMNS < numbers
 *
 * TYPE is float32 or int64; without columns (0), the input is a vector. INPUT and OUTPUT are tensors
 * of the model, as saved_model_cli names them: serving_default_x:0. The output, which is float32, is
 * printed with one number on each line.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tensorflow/c/c_api.h>

static TF_Status* status;

static void expect_ok(const char* what) {
  if (TF_GetCode(status) == TF_OK) return;
  fprintf(stderr, "%s: %s\n", what, TF_Message(status));
  exit(1);
}

/* The place in a graph that "operation:number" names. */
static TF_Output tensor_named(TF_Graph* graph, const char* name) {
  char operation[1000];
  snprintf(operation, sizeof operation, "%s", name);
  char* colon = strrchr(operation, ':');
  if (colon != NULL) *colon = '\0';
  TF_Output found = {TF_GraphOperationByName(graph, operation), colon ? atoi(colon + 1) : 0};
  if (found.oper == NULL) {
    fprintf(stderr, "the model has no operation %s\n", operation);
    exit(1);
  }
  return found;
}

static TF_Tensor* read_tensor(const char* type, int64_t rows, int64_t columns) {
  int is_float = strcmp(type, "float32") == 0;
  int64_t count = columns ? rows * columns : rows, shape[] = {rows, columns};
  size_t size = is_float ? sizeof(float) : sizeof(int64_t);
  TF_Tensor* tensor = TF_AllocateTensor(is_float ? TF_FLOAT : TF_INT64, shape, columns ? 2 : 1,
                                        (size_t)count * size);
  for (int64_t i = 0; i < count; i++) {
    int read = is_float ? scanf("%f", (float*)TF_TensorData(tensor) + i)
                        : scanf("%" SCNd64, (int64_t*)TF_TensorData(tensor) + i);
    if (read != 1) {
      fprintf(stderr, "expected %" PRId64 " numbers, found %" PRId64 "\n", count, i);
      exit(1);
    }
  }
  return tensor;
}

int main(int argc, char** argv) {
  if (argc != 7) {
    fprintf(stderr, "usage: consumer MODEL TYPE INPUT OUTPUT ROWS COLUMNS\n");
    return 2;
  }
  status = TF_NewStatus();
  TF_Graph* graph = TF_NewGraph();
  TF_SessionOptions* options = TF_NewSessionOptions();
  const char* tags[] = {"serve"};
  TF_Session* session =
      TF_LoadSessionFromSavedModel(options, NULL, argv[1], tags, 1, graph, NULL, status);
  expect_ok("load");

  TF_Output input = tensor_named(graph, argv[3]), output = tensor_named(graph, argv[4]);
  TF_Tensor* given = read_tensor(argv[2], atoll(argv[5]), atoll(argv[6]));
  TF_Tensor* result = NULL;
  TF_SessionRun(session, NULL, &input, &given, 1, &output, &result, 1, NULL, 0, NULL, status);
  expect_ok("run");
  if (TF_TensorType(result) != TF_FLOAT) {
    fprintf(stderr, "the output is no float32\n");
    return 1;
  }
  for (int64_t i = 0; i < TF_TensorElementCount(result); i++)
    printf("%.9g\n", ((float*)TF_TensorData(result))[i]);

  TF_DeleteTensor(given);
  TF_DeleteTensor(result);
  TF_CloseSession(session, status);
  TF_DeleteSession(session, status);
  TF_DeleteSessionOptions(options);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
  return 0;
}
